/* The memory of the card: how it is cut and joined, what it says when it is full, and who sees whose bytes.
 */
#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "worker/runtime/device_memory.h"

#define KIB ((size_t)1 << 10)

static void
freed_neighbours_become_one_block(void **state)
{
    TensorBuffer *blocks[64];
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = cuda_bench_new(&bench, 16 * KIB);
    }
    assert_int_equal(cuda_bench_memory(&bench).cached, 0);
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2) {
        tensor_buffer_unref(blocks[i]);
    }
    assert_int_equal(cuda_bench_memory(&bench).largest_free, 16 * KIB);
    assert_null(bench.card->allocate(bench.card, 17 * KIB));
    for (size_t i = 1; i < COUNT_OF(blocks); i += 2) {
        tensor_buffer_unref(blocks[i]);
    }
    assert_int_equal(cuda_bench_memory(&bench).largest_free, MIB);
    TensorBuffer *whole = cuda_bench_new(&bench, MIB);
    tensor_buffer_unref(whole);
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
    assert_int_equal(cuda_bench_memory(&bench).peak, MIB);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* The next copy from the host comes into bytes that the lane has done with; they are joined with the others
 * when all are wanted as one. */
static void
bytes_that_the_lane_still_uses_are_kept_apart(void **state)
{
    char message[ERROR_MESSAGE_SIZE];
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
    TensorBuffer *used = cuda_bench_new(&bench, 300 * KIB);
    const void *place = used->data;
    cuda_bench_lane_fill(&bench, used, 1);
    tensor_buffer_unref(used);
    TensorBuffer *next = cuda_bench_new(&bench, 300 * KIB);
    assert_ptr_not_equal(next->data, place);
    tensor_buffer_unref(next);
    assert_int_equal(cuda_bench_memory(&bench).largest_free, MIB);
    TensorBuffer *whole = cuda_bench_new(&bench, MIB);
    assert_ptr_equal(whole->data, place);
    tensor_buffer_unref(whole);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* The smaller of two free places that are large enough is taken, wherever they lie. */
static void
the_smallest_place_is_taken(void **state)
{
    static const size_t sizes[] = {100 * KIB, KIB, 40 * KIB, KIB, 60 * KIB, KIB};
    TensorBuffer *blocks[COUNT_OF(sizes)];
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        blocks[i] = cuda_bench_new(&bench, sizes[i]);
    }
    const void *place = blocks[4]->data;
    tensor_buffer_unref(blocks[0]);
    tensor_buffer_unref(blocks[2]);
    tensor_buffer_unref(blocks[4]);
    TensorBuffer *taken = cuda_bench_new(&bench, 59 * KIB);
    assert_ptr_equal(taken->data, place);
    tensor_buffer_unref(taken);
    tensor_buffer_unref(blocks[1]);
    tensor_buffer_unref(blocks[3]);
    tensor_buffer_unref(blocks[5]);
    assert_int_equal(cuda_bench_memory(&bench).largest_free, MIB);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

static void
a_full_card_tells_its_sizes_and_recovers(void **state)
{
    Call *call = *state;
    CudaBench bench = cuda_bench_open(call, "", MIB, 0);
    Tensor outputs[1] = {{0}};
    Tensor *output = NULL;
    int64_t length = INT64_C(262144);
    Shape shape = shape_vector(length);
    KernelContext context = {.call = call,
        .device = bench.card,
        .host = bench.host,
        .lane = bench.lane,
        .outputs = outputs,
        .output_count = 1};
    TensorBuffer *first = cuda_bench_new(&bench, 300 * KIB);
    TensorBuffer *second = cuda_bench_new(&bench, 600 * KIB);
    tensor_buffer_unref(first);
    assert_status(
        call, STATUS_RESOURCE_EXHAUSTED, kernel_output(&context, 0, DTYPE_FLOAT32, &shape, &output));
    assert_string_equal(call->error.message,
        "output 0 of type float32 and shape [262144] needs 1048576 bytes, but 614400 of 1048576 bytes of "
        "the memory of /device:GPU:0 are in use; 434176 are kept for later, at most 307200 of them in one "
        "piece");
    tensor_buffer_unref(second);
    assert_status(call, STATUS_OK, kernel_output(&context, 0, DTYPE_FLOAT32, &shape, &output));
    tensor_unref(output);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* 64 MiB lie idle in a slab; 150 MiB fit only when it goes back to the card. */
static void
idle_slabs_make_room_for_a_larger_one(void **state)
{
    cuda_on_cpu_set_memory(200 * MIB);
    CudaBench bench = cuda_bench_open(*state, "", 0, 0);
    TensorBuffer *small = cuda_bench_new(&bench, MIB);
    tensor_buffer_unref(small);
    assert_int_equal(cuda_bench_memory(&bench).cached, 64 * MIB);
    TensorBuffer *large = cuda_bench_new(&bench, 150 * MIB);
    assert_int_equal(cuda_on_cpu_calls("cudaFree"), 1);
    tensor_buffer_unref(large);
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* Others may fill the card meanwhile: then a slab of the wanted size alone is tried. */
static void
a_card_without_room_for_a_slab_gives_what_is_needed(void **state)
{
    cuda_on_cpu_set_memory(100 * MIB);
    CudaBench bench = cuda_bench_open(*state, "", 0, 0);
    cuda_on_cpu_set_memory(10 * MIB);
    TensorBuffer *small = cuda_bench_new(&bench, 3 * MIB);
    assert_int_equal(cuda_bench_memory(&bench).cached, 0);
    assert_null(bench.card->allocate(bench.card, 20 * MIB));
    assert_null(bench.card->fault(bench.card));
    tensor_buffer_unref(small);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

static TensorBuffer *
allocate_for(const CudaBench *bench, MemoryAccount *account, size_t size)
{
    MemoryAccount *before = bench->card->charge(bench->card, account);
    TensorBuffer *made = bench->card->allocate(bench->card, size);
    (void)bench->card->charge(bench->card, before);
    return made;
}

static void
an_account_is_charged_and_has_a_limit(void **state)
{
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    MemoryAccount *account = memory_account_new();
    assert_non_null(account);
    account->limit = 500 * KIB;
    TensorBuffer *first = allocate_for(&bench, account, 400 * KIB);
    assert_non_null(first);
    assert_int_equal(memory_account_in_use(account), 400 * KIB);
    assert_null(allocate_for(&bench, account, 200 * KIB));
    assert_true(memory_account_has_refused(account));
    tensor_buffer_unref(first);
    assert_int_equal(memory_account_in_use(account), 0);
    memory_account_end(account);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

static bool
is_all(const CudaBench *bench, TensorBuffer *buffer, char byte)
{
    TensorBuffer *seen = cuda_bench_filled(buffer->size, 0);
    cuda_bench_copy(bench, buffer, seen);
    const char *bytes = seen->data;
    bool is_right = true;
    for (size_t i = 0; i < seen->size; i++) {
        is_right = is_right && bytes[i] == byte;
    }
    tensor_buffer_unref(seen);
    return is_right;
}

/* Two tenants in turns, in blocks that are cut from and joined with each other's. One that is not known
 * trusts nobody, not even itself. */
static void
tenants_never_see_each_others_bytes(void **state)
{
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    MemoryAccount *accounts[3];
    for (size_t i = 0; i < COUNT_OF(accounts); i++) {
        accounts[i] = memory_account_new();
        assert_non_null(accounts[i]);
        accounts[i]->tenant = i;
    }
    for (size_t turn = 0; turn < 30; turn++) {
        TensorBuffer *whole = allocate_for(&bench, accounts[turn % 3], (700 + turn) * KIB);
        assert_non_null(whole);
        assert_true(is_all(&bench, whole, 0));
        cuda_bench_lane_fill(&bench, whole, 0x5a);
        tensor_buffer_unref(whole);
        TensorBuffer *left = allocate_for(&bench, accounts[(turn + 1) % 3], 300 * KIB);
        TensorBuffer *right = allocate_for(&bench, accounts[(turn + 2) % 3], 300 * KIB);
        assert_true(is_all(&bench, left, 0) && is_all(&bench, right, 0));
        cuda_bench_lane_fill(&bench, left, 0x11);
        cuda_bench_lane_fill(&bench, right, 0x22);
        tensor_buffer_unref(left);
        tensor_buffer_unref(right);
    }
    for (size_t i = 0; i < COUNT_OF(accounts); i++) {
        memory_account_end(accounts[i]);
    }
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* Zeroing costs a write of every byte: a tenant that gets its own bytes back does not pay for it. */
static void
a_tenants_own_bytes_are_not_zeroed(void **state)
{
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    MemoryAccount *account = memory_account_new();
    assert_non_null(account);
    account->tenant = 5;
    for (int turn = 0; turn < 20; turn++) {
        TensorBuffer *block = allocate_for(&bench, account, 500 * KIB);
        assert_non_null(block);
        tensor_buffer_unref(block);
    }
    assert_int_equal(cuda_on_cpu_calls("cudaMemsetAsync"), 1); /* of the slab */
    memory_account_end(account);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

static void
what_cannot_be_zeroed_is_not_handed_out(void **state)
{
    CudaBench bench = cuda_bench_open(*state, "", MIB, 0);
    TensorBuffer *before = cuda_bench_new(&bench, KIB);
    tensor_buffer_unref(before);
    cuda_on_cpu_fail("cudaMemsetAsync", 0, cudaErrorInvalidValue);
    assert_null(bench.card->allocate(bench.card, KIB));
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
    TensorBuffer *next = cuda_bench_new(&bench, KIB);
    tensor_buffer_unref(next);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* Notes for whom room is to be made, and makes none. */
static bool
note_tenant(void *context, uint64_t tenant)
{
    *(uint64_t *)context = tenant;
    return false;
}

static TensorBuffer *
allocate_or_make_room(CudaBench *bench, MemoryAccount *account, size_t size)
{
    MemoryAccount *before = bench->card->charge(bench->card, account);
    TensorBuffer *made = device_allocate(bench->card, size, account);
    (void)bench->card->charge(bench->card, before);
    return made;
}

static void
a_tenant_holds_no_more_than_its_share(void **state)
{
    enum { SHARE = 512 * KIB };
    static const PluginOptions options = {.device = "", .memory = MIB, .tenant_memory = SHARE};
    CudaBench bench = cuda_bench_open_with(*state, options);
    uint64_t asked = UINT64_MAX;
    char why[DEVICE_FULL_TEXT_SIZE];
    MemoryAccount *runs[3];
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        runs[i] = memory_account_new();
        assert_non_null(runs[i]);
        runs[i]->tenant = i < 2 ? 1 : 2; /* two runs of one tenant, and one of another */
    }
    bench.card->keeper = (DeviceKeeper){.give_up = note_tenant, .context = &asked};
    TensorBuffer *first = allocate_for(&bench, runs[0], 400 * KIB);
    assert_non_null(first);
    assert_null(allocate_or_make_room(&bench, runs[1], 200 * KIB));
    assert_int_equal(asked, 1); /* room is made at its own expense */
    assert_string_equal(device_tell_full(bench.card, runs[1], why),
        "a tenant may hold no more than 524288 bytes of the memory of /device:GPU:0");
    TensorBuffer *others = allocate_for(&bench, runs[2], SHARE);
    assert_non_null(others);
    tensor_buffer_unref(first);
    TensorBuffer *second = allocate_for(&bench, runs[1], 400 * KIB);
    assert_non_null(second);
    assert_null(allocate_or_make_room(&bench, NULL, 200 * KIB)); /* now the card is full */
    assert_int_equal(asked, 0);
    tensor_buffer_unref(second);
    tensor_buffer_unref(others);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        memory_account_end(runs[i]);
    }
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CALL_TEST(freed_neighbours_become_one_block),
        CALL_TEST(bytes_that_the_lane_still_uses_are_kept_apart),
        CALL_TEST(the_smallest_place_is_taken),
        CALL_TEST(a_full_card_tells_its_sizes_and_recovers),
        CALL_TEST(idle_slabs_make_room_for_a_larger_one),
        CALL_TEST(a_card_without_room_for_a_slab_gives_what_is_needed),
        CALL_TEST(an_account_is_charged_and_has_a_limit),
        CALL_TEST(tenants_never_see_each_others_bytes),
        CALL_TEST(a_tenants_own_bytes_are_not_zeroed),
        CALL_TEST(what_cannot_be_zeroed_is_not_handed_out),
        CALL_TEST(a_tenant_holds_no_more_than_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
