/* Copies between the host and the card go on while the lane computes: what the next run needs comes while
 * this one is under way. The plugin's copies are compiled here once more, so that their streams can be waited
 * for one by one. The card does the lane's work as late as it may: it is done when something waited for it.
 */
#include "tests/support/cuda_on_cpu/cuda_bench.h"

/* NOLINTBEGIN(bugprone-suspicious-include): the files themselves, whose structs are private */
#include "worker/cuda/copy.c"
#include "worker/cuda/device.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* Each is a piece of work, of which a call to the card does a third at random. */
enum { LANE_WORK = 500, SEEDS = 6 };

#define LARGE (300 * (size_t)1024)

/* Enqueues much work in the lane. Returns an event behind it. */
static cudaEvent_t
compute_long(const CudaBench *bench, TensorBuffer *buffer)
{
    cudaEvent_t end = NULL;
    for (int i = 0; i < LANE_WORK; i++) {
        cuda_bench_lane_fill(bench, buffer, i % 100);
    }
    assert_int_equal(cudaEventCreateWithFlags(&end, cudaEventDisableTiming), cudaSuccess);
    cuda_lane_enter(cuda_lane(bench->lane));
    assert_int_equal(cudaEventRecord(end, cuda_lane(bench->lane)->stream), cudaSuccess);
    assert_int_equal(cuda_lane_leave(cuda_lane(bench->lane)), cudaSuccess);
    return end;
}

/* Waits for all copies of a direction. Returns whether the lane's work in front of `end` goes on. */
static bool
copies_end_before(const CudaBench *bench, bool is_up, cudaEvent_t end)
{
    CudaCopies *copies = cuda_device(bench->card)->copies;
    cudaStream_t stream = is_up ? copies->up.stream : copies->down.stream;
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    bool goes_on = cudaEventQuery(end) == cudaErrorNotReady;
    (void)cudaGetLastError();
    (void)cudaEventDestroy(end);
    return goes_on;
}

static void
await_lane(const CudaBench *bench)
{
    char message[ERROR_MESSAGE_SIZE];
    assert_int_equal(cuda_bench_fence(bench, message), STATUS_OK);
}

static void
for_each_seed(Call *call, void (*check)(const CudaBench *bench))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        cuda_on_cpu_seed(seed);
        CudaBench bench = cuda_bench_open(call, "", 40 * MIB, 0);
        MemoryAccount *account = memory_account_new();
        assert_non_null(account);
        account->tenant = 7;
        (void)bench.card->charge(bench.card, account);
        await_lane(&bench);
        check(&bench);
        await_lane(&bench);
        (void)bench.card->charge(bench.card, NULL);
        assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
        cuda_bench_close(&bench);
        memory_account_end(account);
        cuda_on_cpu_reset(true);
    }
}

static void
upload_beside_kernels(const CudaBench *bench)
{
    TensorBuffer *from = cuda_bench_filled(LARGE, 1);
    TensorBuffer *there = cuda_bench_new(bench, LARGE);
    TensorBuffer *other = cuda_bench_new(bench, LARGE);
    cudaEvent_t end = compute_long(bench, other);
    cuda_bench_copy(bench, from, there);
    assert_true(copies_end_before(bench, true, end));
    assert_true(cuda_bench_has(bench, there, 1));
    tensor_buffer_unref(from);
    tensor_buffer_unref(there);
    tensor_buffer_unref(other);
}

static void
an_upload_comes_while_the_lane_computes(void **state)
{
    for_each_seed(*state, upload_beside_kernels);
}

/* A run whose input is let go as soon as its kernels are enqueued, as every run does, and one behind it that
 * has an input of the same size. */
static void
upload_for_the_next_run(const CudaBench *bench)
{
    TensorBuffer *from = cuda_bench_filled(LARGE, 1);
    TensorBuffer *next = cuda_bench_filled(LARGE, 2);
    TensorBuffer *input = cuda_bench_new(bench, LARGE);
    TensorBuffer *output = cuda_bench_new(bench, LARGE);
    cuda_bench_copy(bench, from, input);
    cuda_bench_lane_copy(bench, input, output);
    tensor_buffer_unref(input);
    cudaEvent_t end = compute_long(bench, output);
    input = cuda_bench_new(bench, LARGE);
    cuda_bench_copy(bench, next, input);
    assert_true(copies_end_before(bench, true, end));
    assert_true(cuda_bench_has(bench, input, 2));
    tensor_buffer_unref(from);
    tensor_buffer_unref(next);
    tensor_buffer_unref(input);
    tensor_buffer_unref(output);
}

static void
the_input_of_the_next_run_comes_while_this_one_computes(void **state)
{
    for_each_seed(*state, upload_for_the_next_run);
}

/* The first run's output is fetched while the second one computes. */
static void
download_beside_the_next_run(const CudaBench *bench)
{
    TensorBuffer *output = cuda_bench_new(bench, LARGE);
    TensorBuffer *other = cuda_bench_new(bench, LARGE);
    TensorBuffer *back = cuda_bench_filled(LARGE, 3);
    WaitedCopy down;
    cuda_bench_lane_fill(bench, output, 5);
    cuda_bench_begin(bench, &down, output, back);
    cudaEvent_t end = compute_long(bench, other);
    assert_true(copies_end_before(bench, false, end));
    assert_int_equal(cuda_bench_await(&down), STATUS_OK);
    const char *bytes = back->data;
    assert_int_equal(bytes[LARGE - 1], 5);
    tensor_buffer_unref(output);
    tensor_buffer_unref(other);
    tensor_buffer_unref(back);
}

static void
an_output_is_fetched_while_the_next_run_computes(void **state)
{
    for_each_seed(*state, download_beside_the_next_run);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CALL_TEST(an_upload_comes_while_the_lane_computes),
        CALL_TEST(the_input_of_the_next_run_comes_while_this_one_computes),
        CALL_TEST(an_output_is_fetched_while_the_next_run_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
