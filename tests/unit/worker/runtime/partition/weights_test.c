/* Constants on an accelerator: what is uploaded when, what is shared with whom, and what is given up. */
#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"
#include "tests/support/partition_runs.h"
#include "worker/runtime/partition/compile.h"
#include "worker/runtime/partition/weights.h"

enum { ELEMENTS = 1024, BLOB_SIZE = ELEMENTS * sizeof(float) };

#define PRODUCT                                                                                              \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "w = _BlobConst() dtype=float32 shape=<1024> sha256='aa11'\n"                                            \
    "y = Mul(x, w) T=float32\n"                                                                              \
    "out = _Retval(y) T=float32 index=0\n"

static TensorBuffer *
make_blob(void *context, Slice sha256)
{
    (void)context;
    TensorBuffer *blob = tensor_buffer_new(BLOB_SIZE);
    for (int i = 0; blob != NULL && i < ELEMENTS; i++) {
        ((float *)blob->data)[i] = slice_equals_string(sha256, "aa11") ? 2 : 3;
    }
    return blob;
}

static Status
try_compile(
    RunFixture *fixture, Weights *weights, uint64_t tenant, const char *text, Partition **ret_partition)
{
    BlobSource blobs = {.find = make_blob, .weights = weights, .tenant = tenant};
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    return partition_compile(&fixture->call, def, fixture_devices(fixture), &blobs, &missing, ret_partition);
}

static Partition *
compile_for(RunFixture *fixture, Weights *weights, uint64_t tenant, const char *text)
{
    Partition *partition = NULL;
    assert_status(&fixture->call, STATUS_OK, try_compile(fixture, weights, tenant, text, &partition));
    return partition;
}

static uint64_t
bytes_on(const RunFixture *fixture)
{
    DeviceMemory memory = {0};
    fixture->accelerator->memory(fixture->accelerator, &memory);
    return memory.in_use;
}

/* Frees the table when the last partition is gone: a run that has told its end may hold its own a little
 * longer. */
static void
end_weights(RunFixture *fixture, Weights *weights)
{
    AWAIT(atomic_load_acquire(&fixture->device->partition_count) == 0);
    AWAIT(bytes_on(fixture) == 0);
    weights_free(weights);
}

static uint64_t
upload_count(const RunFixture *fixture)
{
    return test_device_counts(fixture->accelerator).uploads;
}

static void
expect_product(RunFixture *fixture, Partition *partition, float expected)
{
    RunOutcome outcome = {0};
    Tensor args[1] = {fixture_vector(fixture, ELEMENTS, 5)};
    fixture_run(fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], ELEMENTS - 1), expected, 0);
    outcome_clear(&outcome);
}

/* Two convolutions by one filter, whose channels are last on the accelerator (layout.c). */
#define CONVOLUTIONS                                                                                         \
    "x = _Arg() T=bfloat16 index=0\n"                                                                        \
    "w = _BlobConst() dtype=bfloat16 shape=<8,8,4,8> sha256='aa11'\n"                                        \
    "a = onnx::Conv(x, w) T=bfloat16\n"                                                                      \
    "b = onnx::Conv(a, w) T=bfloat16\n"                                                                      \
    "out = _Retval(b) T=bfloat16 index=0\n"

static void
a_tenant_has_one_copy_of_a_transposed_filter(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    Weights *weights = weights_new(fixture.accelerator);
    Partition *first = compile_for(&fixture, weights, 1, CONVOLUTIONS);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    Partition *second = compile_for(&fixture, weights, 1, CONVOLUTIONS);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    assert_int_equal(upload_count(&fixture), 1);
    Partition *stranger = compile_for(&fixture, weights, 2, CONVOLUTIONS);
    AWAIT(bytes_on(&fixture) == 2 * BLOB_SIZE);
    partition_unref(first);
    partition_unref(second);
    partition_unref(stranger);
    end_weights(&fixture, weights);
    fixture_end(&fixture);
}

static void
a_tenant_has_one_copy_of_a_weight(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    Weights *weights = weights_new(fixture.accelerator);
    Partition *first = compile_for(&fixture, weights, 1, PRODUCT);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    Partition *second = compile_for(&fixture, weights, 1, PRODUCT);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    assert_int_equal(upload_count(&fixture), 1);
    Partition *stranger = compile_for(&fixture, weights, 2, PRODUCT);
    AWAIT(bytes_on(&fixture) == 2 * BLOB_SIZE);
    partition_unref(first);
    for (int step = 0; step < 3; step++) {
        expect_product(&fixture, second, 10);
    }
    assert_int_equal(upload_count(&fixture), 2 + 3); /* one a step: its feed */
    partition_unref(stranger);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    partition_unref(second);
    end_weights(&fixture, weights);
    fixture_end(&fixture);
}

/* A weight counts as itself under every name and shape that folding gives it. */
static void
a_weight_is_shared_by_all_that_are_its_bytes(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    Weights *weights = weights_new(fixture.accelerator);
    Partition *partition = compile_for(&fixture, weights, 1,
        "x = _Arg() T=float32 index=0\n"
        "w = _BlobConst() dtype=float32 shape=<1024> sha256='aa11'\n"
        "v = _BlobConst() dtype=float32 shape=<1,1024> sha256='aa11'\n"
        "i = Identity(w) T=float32\n"
        "a = Mul(x, w) T=float32\n"
        "b = Mul(a, v) T=float32\n"
        "c = Mul(b, i) T=float32\n"
        "out = _Retval(c) T=float32 index=0\n");
    assert_int_equal(upload_count(&fixture), 1);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    expect_product(&fixture, partition, 40);
    partition_unref(partition);
    end_weights(&fixture, weights);
    fixture_end(&fixture);
}

/* Constants that wait for a control input, as all in a loop's body do, and those that a Merge takes. */
static void
a_constant_that_waits_is_not_copied_again(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    Partition *partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                     "a = Neg(x) T=float32\n"
                                                     "k = Const(^a) dtype=float32 value=float32(2)\n"
                                                     "b = Mul(a, k) T=float32\n"
                                                     "m = Const() dtype=float32 value=float32(-3)\n"
                                                     "p = Const() dtype=bool value=bool(1)\n"
                                                     "s = Switch(b, p) T=float32\n"
                                                     "n = Merge(s, m) N=2 T=float32\n"
                                                     "c = Mul(b, n) T=float32\n"
                                                     "h = _Retval(k) T=float32 index=1\n"
                                                     "out = _Retval(c) T=float32 index=0\n");
    uint64_t before = upload_count(&fixture);
    for (int step = 0; step < 3; step++) {
        expect_product(&fixture, partition, 30);
    }
    assert_int_equal(upload_count(&fixture) - before, 3);
    partition_unref(partition);
    fixture_end(&fixture);
}

/* The plan of a run's memory reads constants that say shapes, wherever the kernels read them. */
static void
a_constant_that_waits_tells_shapes(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32\n"
                                                         "k = Const(^a) dtype=int32 value=int32(0)\n"
                                                         "b = ConcatV2(a, a, k) N=2 T=float32 Tidx=int32\n"
                                                         "out = _Retval(b) T=float32 index=0\n");
    Tensor args[1] = {fixture_vector(&fixture, ELEMENTS, 5)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    assert_float_equal(tensor_float(&outcome.outputs[0], 2 * ELEMENTS - 1), -5, 0);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* The body of a function is compiled when it is first called; its weights are those of all others. */
static void
functions_share_weights_with_the_graph(void **state)
{
    (void)state;
    static const char *const text =
        "function f() -> ()\n"
        "f/x = _Arg() T=float32 index=0\n"
        "f/w = _BlobConst() dtype=float32 shape=<1024> sha256='aa11'\n"
        "f/y = Mul(f/x, f/w) T=float32\n"
        "f/out = _Retval(f/y) T=float32 index=0\n"
        "end\n"
        "x = _Arg() T=float32 index=0\n"
        "w = _BlobConst() dtype=float32 shape=<1024> sha256='aa11'\n"
        "y = Mul(x, w) T=float32\n"
        "p = Const() dtype=bool value=bool(1)\n"
        "z = _Branch(p, y) Tindex=bool Tin=[float32] Tout=[float32] branches=[@f,@f]\n"
        "out = _Retval(z) T=float32 index=0\n";
    RunFixture fixture;
    fixture_begin_accelerated(&fixture, 2);
    Weights *weights = weights_new(fixture.accelerator);
    Partition *partition = compile_for(&fixture, weights, 1, text);
    expect_product(&fixture, partition, 20);
    AWAIT(bytes_on(&fixture) == BLOB_SIZE);
    partition_unref(partition);
    end_weights(&fixture, weights);
    fixture_end(&fixture);
}

/* A keeper of one partition. */
static bool
give_partition_up(void *context, uint64_t tenant)
{
    (void)tenant;
    Partition **kept = context;
    bool has_kept = *kept != NULL;
    partition_unref(*kept);
    *kept = NULL;
    return has_kept;
}

/* Memory for two blobs and no feed, or for one blob, a feed and a result. */
static void
what_is_idle_goes_before_memory_is_short(void **state)
{
    (void)state;
    static const char *const other = "x = _Arg() T=float32 index=0\n"
                                     "w = _BlobConst() dtype=float32 shape=<1024> sha256='bb22'\n"
                                     "y = Mul(x, w) T=float32\n"
                                     "out = _Retval(y) T=float32 index=0\n";
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    TestDeviceOptions options = {.host = fixture.device, .memory = (uint64_t)2 * BLOB_SIZE};
    accelerator_begin(&fixture.call, &options, &fixture.accelerator);
    Weights *weights = weights_new(fixture.accelerator);
    Partition *idle = compile_for(&fixture, weights, 1, PRODUCT);
    Partition *kept = compile_for(&fixture, weights, 2, PRODUCT);
    Partition *refused = NULL;
    assert_int_equal(try_compile(&fixture, weights, 1, other, &refused), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(fixture.call.error.message,
        "node 'w': a constant of 4096 bytes does not fit: 8192 "
        "of 8192 bytes of the memory of /device:GPU:0 are in use");
    fixture.accelerator->keeper = (DeviceKeeper){.give_up = give_partition_up, .context = &idle};
    Partition *made = compile_for(&fixture, weights, 1, other);
    assert_null(idle);
    fixture.accelerator->keeper.context = &kept;
    expect_product(&fixture, made, 15); /* its feed needs what the other tenant's weight has */
    assert_null(kept);
    partition_unref(made);
    end_weights(&fixture, weights);
    fixture_end(&fixture);
}

static void
each_failing_allocation_of_a_compile_leaves_nothing(void **state)
{
    (void)state;
    Status status = STATUS_RESOURCE_EXHAUSTED;
    for (size_t at = 1; status != STATUS_OK; at++) {
        RunFixture fixture;
        fixture_begin_accelerated(&fixture, 1);
        Weights *weights = weights_new(fixture.accelerator);
        Partition *partition = NULL;
        BlobSource blobs = {.find = make_blob, .weights = weights, .tenant = 1};
        MissingBlobs missing = {0};
        GraphDef *def = graph_literal(PRODUCT);
        fail_alloc_count = 0;
        fail_alloc_at = at;
        status =
            partition_compile(&fixture.call, def, fixture_devices(&fixture), &blobs, &missing, &partition);
        fail_alloc_at = 0;
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED || missing.count > 0);
        partition_unref(partition);
        graph_def_unref(def);
        end_weights(&fixture, weights);
        fixture_end(&fixture);
        assert_true(at < 150);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_has_one_copy_of_a_weight),
        cmocka_unit_test(a_tenant_has_one_copy_of_a_transposed_filter),
        cmocka_unit_test(a_weight_is_shared_by_all_that_are_its_bytes),
        cmocka_unit_test(a_constant_that_waits_is_not_copied_again),
        cmocka_unit_test(a_constant_that_waits_tells_shapes),
        cmocka_unit_test(functions_share_weights_with_the_graph),
        cmocka_unit_test(what_is_idle_goes_before_memory_is_short),
        cmocka_unit_test(each_failing_allocation_of_a_compile_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
