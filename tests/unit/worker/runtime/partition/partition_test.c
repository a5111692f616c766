#include "tests/support/cmocka_all.h"

#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"
#include "tests/support/tensor_literals.h"
#include "worker/runtime/partition/compile.h"
#include "worker/serve/cache.h"

static void
assert_refused(const char *text, Status code, const char *message)
{
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    Partition *partition = NULL;
    assert_status(&fixture.call, code,
        partition_compile(&fixture.call, def, fixture_devices(&fixture), NULL, &missing, &partition));
    assert_string_equal(fixture.call.error.message, message);
    assert_null(partition);
    fixture_end(&fixture);
}

static void
what_cannot_run_is_refused_by_name(void **state)
{
    (void)state;
    assert_refused("x = _Arg() T=float32 index=0\ny = Frobnicate(x) T=float32\n", STATUS_UNIMPLEMENTED,
        "node 'y': op 'Frobnicate' does not exist");
    assert_refused("x = _Arg() T=float32 index=0\n"
                   "y = Enter(x) T=float32 frame_name='loop'\n"
                   "z = Add(x, y) T=float32\n",
        STATUS_INVALID_ARGUMENT,
        "node 'z' has inputs from different loops: one comes from outside of all loops, one from loop "
        "'loop'");
    assert_refused("x = _Arg() T=float32 index=0\n"
                   "y = Enter(x) T=float32 frame_name='loop'\n"
                   "out = _Retval(y) T=float32 index=0\n",
        STATUS_INVALID_ARGUMENT,
        "node 'out': what is inside loop 'loop' has a value for each iteration, and can be neither fed nor "
        "fetched");
    assert_refused("x = _Arg() T=float32 index=1\n", STATUS_INVALID_ARGUMENT,
        "node 'x': index 1 must be one of 0…0, each used once");
    assert_refused("x = _Arg() T=float32 index=0\n"
                   "a = _Retval(x) T=float32 index=0\n"
                   "b = _Retval(x) T=float32 index=0\n",
        STATUS_INVALID_ARGUMENT, "node 'b': index 0 must be one of 0…1, each used once");
}

static const char *const WITH_BLOBS = "x = _Arg() T=float32 index=0\n"
                                      "w = _BlobConst() dtype=float32 shape=<4> sha256='aa11'\n"
                                      "v = _BlobConst() dtype=float32 shape=<2,2> sha256='bb22'\n"
                                      "w2 = _BlobConst() dtype=float32 shape=<2,2> sha256='aa11'\n"
                                      "y = Mul(x, w) T=float32\n"
                                      "out = _Retval(y) T=float32 index=0\n"
                                      "too = _Retval(v) T=float32 index=1\n"
                                      "three = _Retval(w2) T=float32 index=2\n";

static TensorBuffer *
blob(float first)
{
    TensorBuffer *buffer = tensor_buffer_new(4 * sizeof(float));
    for (int i = 0; i < 4; i++) {
        ((float *)buffer->data)[i] = first + (float)i;
    }
    return buffer;
}

static void
put_blob(Call *call, Cache *cache, const char *tenant, const char *sha256, float first)
{
    TensorBuffer *made = blob(first);
    CacheKey key = {.tenant = slice_from_string(tenant), .digest = slice_from_string(sha256)};
    assert_status(call, STATUS_OK, cache_put(call, cache, key, made));
    tensor_buffer_unref(made);
}

/* The blobs that one tenant has in a cache. */
typedef struct Owned {
    Cache *cache;
    Slice tenant;
} Owned;

static TensorBuffer *
find_owned(void *context, Slice sha256)
{
    const Owned *owned = context;
    return cache_get(owned->cache, (CacheKey){.tenant = owned->tenant, .digest = sha256});
}

static void
all_missing_blobs_are_told_then_bound(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Cache *cache = cache_new(&blob_cache_type, 1024);
    Owned owned = {.cache = cache, .tenant = SLICE("tnt_1")};
    BlobSource source = {.context = &owned, .find = find_owned};
    AUTO_GRAPH_DEF def = graph_literal(WITH_BLOBS);
    AUTO_PARTITION partition = NULL;
    MissingBlobs missing = {0};
    put_blob(&fixture.call, cache, "tnt_2", "aa11", 1);
    assert_status(&fixture.call, STATUS_FAILED_PRECONDITION,
        partition_compile(&fixture.call, def, fixture_devices(&fixture), &source, &missing, &partition));
    assert_int_equal(missing.count, 2);
    assert_string_equal(missing.sha256[0], "aa11");
    assert_string_equal(missing.sha256[1], "bb22");
    assert_string_equal(fixture.call.error.message, "2 blobs are missing, the first is 'aa11'");

    put_blob(&fixture.call, cache, "tnt_1", "aa11", 1);
    put_blob(&fixture.call, cache, "tnt_1", "bb22", 10);
    assert_status(&fixture.call, STATUS_OK,
        partition_compile(&fixture.call, def, fixture_devices(&fixture), &source, &missing, &partition));
    cache_free(cache);
    for (int round = 0; round < 2; round++) {
        RunOutcome outcome = {0};
        Tensor arg = fixture_vector(&fixture, 4, 2);
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_float_equal(tensor_float(&outcome.outputs[0], 3), 8, 0);
        assert_float_equal(tensor_float(&outcome.outputs[1], 3), 13, 0);
        assert_int_equal(outcome.outputs[2].shape.rank, 2);
        outcome_clear(&outcome);
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Compiles a node whose blob has the bytes of four floats. */
static void
expect_refused_blob(const char *node, const char *message)
{
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Cache *cache = cache_new(&blob_cache_type, 1024);
    Owned owned = {.cache = cache, .tenant = SLICE("t")};
    BlobSource source = {.context = &owned, .find = find_owned};
    AUTO_GRAPH_DEF def = graph_literal(node);
    Partition *partition = NULL;
    MissingBlobs missing = {0};
    put_blob(&fixture.call, cache, "t", "aa11", 1);
    assert_status(&fixture.call, STATUS_INVALID_ARGUMENT,
        partition_compile(&fixture.call, def, fixture_devices(&fixture), &source, &missing, &partition));
    assert_string_equal(fixture.call.error.message, message);
    cache_free(cache);
    fixture_end(&fixture);
}

static void
bytes_that_are_no_bools_are_refused(void **state)
{
    (void)state;
    expect_refused_blob("w = _BlobConst() dtype=bool shape=<16> sha256='aa11'\n",
        "node 'w': a bool constant has a byte that is neither 0 nor 1");
}

static void
a_blob_of_the_wrong_size_is_refused(void **state)
{
    (void)state;
    expect_refused_blob("w = _BlobConst() dtype=float32 shape=<5> sha256='aa11'\n",
        "node 'w': a blob of 16 bytes is no float32 tensor of shape [5]");
}

static void
the_blob_cache_drops_what_was_used_longest_ago(void **state)
{
    (void)state;
    Call call = {0};
    Cache *cache = cache_new(&blob_cache_type, 32);
    CacheKey first = {.tenant = SLICE("t"), .digest = SLICE("1")};
    CacheKey second = {.tenant = SLICE("t"), .digest = SLICE("2")};
    CacheKey third = {.tenant = SLICE("t"), .digest = SLICE("3")};
    put_blob(&call, cache, "t", "1", 1);
    put_blob(&call, cache, "t", "2", 2);
    TensorBuffer *used = cache_get(cache, first);
    put_blob(&call, cache, "t", "3", 3);
    put_blob(&call, cache, "t", "3", 3);
    assert_true(cache_has(cache, first));
    assert_false(cache_has(cache, second));
    assert_true(cache_has(cache, third));
    assert_true(cache_remove(cache, first));
    assert_false(cache_remove(cache, first));
    assert_float_equal(*(float *)used->data, 1, 0);
    tensor_buffer_unref(used);

    CacheStats stats = {0};
    cache_stats(cache, &stats);
    assert_int_equal(stats.bytes, 16);
    assert_int_equal(stats.count, 1);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.evictions, 1);

    TensorBuffer *large = tensor_buffer_new(33);
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, cache_put(&call, cache, second, large));
    assert_string_equal(call.error.message,
        "a blob of 33 bytes is larger than the 32 bytes that the worker keeps for all of "
        "them (its setting 'blob-cache')");
    tensor_buffer_unref(large);
    cache_free(cache);
}

/* Compiles a graph whose one blob of 16 bytes is shared by all nodes, and returns what the partition counts.
 */
static size_t
size_with_blob(RunFixture *fixture, Cache *cache, const char *text)
{
    Owned owned = {.cache = cache, .tenant = SLICE("t")};
    BlobSource source = {.context = &owned, .find = find_owned};
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_PARTITION partition = NULL;
    MissingBlobs missing = {0};
    assert_status(&fixture->call, STATUS_OK,
        partition_compile(&fixture->call, def, fixture_devices(fixture), &source, &missing, &partition));
    assert_int_equal(partition->nodes[partition->node_count - 2].kind, SCHEDULE_STATIC); /* it is folded */
    return partition->constant_bytes;
}

/* A blob is its store's, whatever a folded node calls it; what folding makes of it is the partition's. */
static void
a_partition_counts_no_bytes_of_blobs(void **state)
{
    (void)state;
    static const char *const passed_on = "w = _BlobConst() dtype=float32 shape=<4> sha256='aa11'\n"
                                         "i = Identity(w) T=float32\n"
                                         "j = Identity(i) T=float32\n"
                                         "out = _Retval(j) T=float32 index=0\n";
    static const char *const changed = "w = _BlobConst() dtype=float32 shape=<4> sha256='aa11'\n"
                                       "n = Neg(w) T=float32\n"
                                       "j = Identity(n) T=float32\n"
                                       "out = _Retval(j) T=float32 index=0\n";
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Cache *cache = cache_new(&blob_cache_type, 1024);
    put_blob(&fixture.call, cache, "t", "aa11", 1);
    assert_int_equal(size_with_blob(&fixture, cache, passed_on), 0);
    assert_int_equal(size_with_blob(&fixture, cache, changed), 16);
    cache_free(cache);
    fixture_end(&fixture);
}

static void
cached_partitions_live_as_long_as_somebody_uses_them(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    Cache *cache = cache_new(&partition_cache_type, 1024 * 1024);
    Partition *made = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                "out = _Retval(x) T=float32 index=0\n");
    assert_null(cache_get(cache, ((CacheKey){SLICE("ses_1"), SLICE("d")})));
    assert_status(&fixture.call, STATUS_OK,
        cache_put(&fixture.call, cache, ((CacheKey){SLICE("ses_1"), SLICE("d")}), made));
    assert_status(&fixture.call, STATUS_OK,
        cache_put(&fixture.call, cache, ((CacheKey){SLICE("ses_2"), SLICE("d")}), made));
    Partition *got = cache_get(cache, ((CacheKey){SLICE("ses_1"), SLICE("d")}));
    assert_ptr_equal(got, made);
    partition_unref(made);
    cache_free(cache);
    RunOutcome outcome = {0};
    Tensor arg = fixture_vector(&fixture, 4, 2);
    fixture_run(&fixture, got, NULL, &arg, 1, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    outcome_clear(&outcome);
    partition_unref(got);
    fixture_end(&fixture);
}

static void
each_failing_allocation_of_a_compile_is_told(void **state)
{
    (void)state;
    Status status = STATUS_RESOURCE_EXHAUSTED;
    for (size_t at = 1; status != STATUS_OK; at++) {
        RunFixture fixture;
        fixture_begin(&fixture, 1);
        Partition *partition = NULL;
        MissingBlobs missing = {0};
        GraphDef *def = graph_literal("x = _Arg() T=float32 index=0\n"
                                      "one = Const() dtype=float32 value=float32(1)\n"
                                      "y = Add(x, one) T=float32\n"
                                      "out = _Retval(y) T=float32 index=0\n");
        fail_alloc_count = 0;
        fail_alloc_at = at;
        status = partition_compile(&fixture.call, def, fixture_devices(&fixture), NULL, &missing, &partition);
        fail_alloc_at = 0;
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
        assert_int_equal(status == STATUS_OK, partition != NULL);
        partition_unref(partition);
        graph_def_unref(def);
        fixture_end(&fixture);
        assert_true(at < 100);
    }
}

/* Compiles a graph with a product by 64 × 48 weights in a branch, and runs it in both branches. */
static void
assert_lays_out_weights(const char *weights, const char *name)
{
    char text[1024];
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    (void)snprintf(text, sizeof text,
        "p = _Arg() T=bool index=0\nx = _Arg() T=float32 index=1\nxs = Switch(x, p) T=float32\n%s"
        "y = MatMul(xs:1, %s) T=float32\nn = Neg(xs) T=float32\nm = Shape(y) T=float32 out_type=int32\n"
        "k = Shape(n) T=float32 out_type=int32\no = Merge(m, k) T=int32 N=2\nout = _Retval(o) T=int32 "
        "index=0\n",
        weights, name);
    Partition *partition = fixture_compile(&fixture, text);
    Shape rows = {.rank = 2, .dims = {8, 64}};
    uint64_t before = fixture_memory_in_use(&fixture);
    uint64_t after[2] = {0};
    for (int taken = 0; taken < 2; taken++) {
        RunOutcome outcome = {0};
        Tensor args[] = {
            tensor_literal(taken == 1 ? "bool[] 1" : "bool[] 0"), fixture_numbers(&fixture, &rows, 1)};
        fixture_run(&fixture, partition, NULL, args, 2, &outcome);
        assert_int_equal(outcome.code, STATUS_OK);
        assert_int_equal(((const int32_t *)outcome.outputs[0].data)[1], taken == 1 ? 48 : 64);
        outcome_clear(&outcome);
        after[taken] = fixture_memory_in_use(&fixture) - before;
    }
    assert_true(after[1] >= after[0] + (uint64_t)64 * 48 * sizeof(float));
    partition_unref(partition);
    fixture_end(&fixture);
}

static void
constant_weights_of_a_branch_or_a_loop_are_laid_out_once(void **state)
{
    (void)state;
    assert_lays_out_weights("c = Const() dtype=float32 value=float32<64,48>(~1)\n"
                            "s = Switch(c, p) T=float32\n",
        "s:1");
    assert_lays_out_weights("pivot = Identity(xs:1) T=float32\n"
                            "w = Const(^pivot) dtype=float32 value=float32<64,48>(~1)\n",
        "w");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_weights_of_a_branch_or_a_loop_are_laid_out_once),
        cmocka_unit_test(what_cannot_run_is_refused_by_name),
        cmocka_unit_test(all_missing_blobs_are_told_then_bound),
        cmocka_unit_test(bytes_that_are_no_bools_are_refused),
        cmocka_unit_test(a_blob_of_the_wrong_size_is_refused),
        cmocka_unit_test(the_blob_cache_drops_what_was_used_longest_ago),
        cmocka_unit_test(a_partition_counts_no_bytes_of_blobs),
        cmocka_unit_test(cached_partitions_live_as_long_as_somebody_uses_them),
        cmocka_unit_test(each_failing_allocation_of_a_compile_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
