/* The card as the runtime uses it, whole: memory, copies of all sizes both ways, threads, fences. Linked also
 * with CUDA's own runtime, for a machine with a card (tools/mk/bundle.mk). */
#include <pthread.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "tests/support/cuda_on_cpu/cuda_bench.h"

static void
copy_there_and_back(const CudaBench *bench, size_t size, unsigned seed)
{
    TensorBuffer *from = cuda_bench_filled(size, seed);
    TensorBuffer *there = cuda_bench_new(bench, size);
    TensorBuffer *second = cuda_bench_new(bench, size);
    assert_int_equal((uintptr_t)there->data % 256, 0);
    WaitedCopy up;
    WaitedCopy within;
    cuda_bench_begin(bench, &up, from, there);
    assert_int_equal(cuda_bench_await(&up), STATUS_OK);
    memset(from->data, 0x77, size); /* it may change */
    cuda_bench_begin(bench, &within, there, second);
    assert_true(cuda_bench_has(bench, second, seed));
    assert_int_equal(cuda_bench_await(&within), STATUS_OK);
    tensor_buffer_unref(from);
    tensor_buffer_unref(there);
    tensor_buffer_unref(second);
}

static void
copies_of_all_sizes_arrive_whole(void **state)
{
    static const size_t sizes[] = {1, 255, 256, 4097, 65536, 65537, 4 * MIB, 4 * MIB + 1, 21 * MIB};
    CudaBench bench = cuda_bench_open(*state, "", 64 * MIB, 0);
    for (unsigned seed = 0; seed < COUNT_OF(sizes); seed++) {
        copy_there_and_back(&bench, sizes[seed], seed);
    }
    char message[ERROR_MESSAGE_SIZE];
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* Four chunks for forty copies: most of them are delayed, none is lost, and nobody waits in copy(). */
static void
copies_that_find_no_chunk_are_delayed(void **state)
{
    enum { COPIES = 40 };
    static WaitedCopy ups[COPIES];
    static WaitedCopy downs[COPIES];
    TensorBuffer *from[COPIES];
    TensorBuffer *there[COPIES];
    TensorBuffer *back[COPIES];
    CudaBench bench = cuda_bench_open(*state, "", 128 * MIB, 1);
    for (unsigned i = 0; i < COPIES; i++) {
        size_t size = i % 3 == 0 ? 60000 + i : (i % 3 == 1 ? 200000 + i : 5 * MIB + i);
        from[i] = cuda_bench_filled(size, i);
        back[i] = cuda_bench_filled(size, i + 1);
        there[i] = cuda_bench_new(&bench, size);
        cuda_bench_begin(&bench, &ups[i], from[i], there[i]);
    }
    for (unsigned i = 0; i < COPIES; i++) {
        assert_int_equal(cuda_bench_await(&ups[i]), STATUS_OK);
        cuda_bench_begin(&bench, &downs[i], there[i], back[i]);
    }
    for (unsigned i = 0; i < COPIES; i++) {
        assert_int_equal(cuda_bench_await(&downs[i]), STATUS_OK);
        assert_memory_equal(from[i]->data, back[i]->data, from[i]->size);
        tensor_buffer_unref(from[i]);
        tensor_buffer_unref(there[i]);
        tensor_buffer_unref(back[i]);
    }
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

typedef struct Client {
    const CudaBench *bench;
    unsigned seed;
    pthread_t thread;
    bool is_right;
} Client;

static void *
run_client(void *context)
{
    Client *client = context;
    client->is_right = true;
    for (unsigned round = 0; round < 40; round++) {
        size_t size = round % 2 == 0 ? 3000 + round : 100000 + round;
        unsigned seed = client->seed * 100 + round;
        TensorBuffer *from = cuda_bench_filled(size, seed);
        TensorBuffer *there = cuda_bench_new(client->bench, size);
        TensorBuffer *result = cuda_bench_new(client->bench, size);
        cuda_bench_copy(client->bench, from, there);
        cuda_bench_lane_copy(client->bench, there, result);
        tensor_buffer_unref(there);
        client->is_right = client->is_right && cuda_bench_has(client->bench, result, seed);
        tensor_buffer_unref(from);
        tensor_buffer_unref(result);
    }
    return NULL;
}

static void
threads_share_the_lane(void **state)
{
    Client clients[4];
    CudaBench bench = cuda_bench_open(*state, "", 16 * MIB, 0);
    for (unsigned i = 0; i < COUNT_OF(clients); i++) {
        clients[i] = (Client){.bench = &bench, .seed = i};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
    for (unsigned i = 0; i < COUNT_OF(clients); i++) {
        assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
        assert_true(clients[i].is_right);
    }
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* Two thousand runs leave no bytes in use, ask the card for no more memory, and make no more events. */
static void
bytes_in_use_stay_flat(void **state)
{
    cuda_on_cpu_set_memory(4 * MIB);
    CudaBench bench = cuda_bench_open(*state, "", 0, 0);
    uint64_t slabs = 0;
    uint64_t events = 0;
    for (unsigned run = 0; run < 2000; run++) {
        char message[ERROR_MESSAGE_SIZE];
        TensorBuffer *in = cuda_bench_new(&bench, 1000 + run % 7 * 5000);
        TensorBuffer *out = cuda_bench_new(&bench, in->size);
        cuda_bench_lane_fill(&bench, in, (int)run % 100);
        cuda_bench_lane_copy(&bench, in, out);
        tensor_buffer_unref(in);
        assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
        tensor_buffer_unref(out);
        if (run == 100) {
            slabs = cuda_on_cpu_calls("cudaMalloc");
            events = cuda_on_cpu_calls("cudaEventCreateWithFlags");
        }
    }
    assert_int_equal(cuda_bench_memory(&bench).in_use, 0);
    assert_int_equal(cuda_on_cpu_calls("cudaMalloc"), slabs);
    assert_int_equal(cuda_on_cpu_calls("cudaEventCreateWithFlags"), events);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

/* The lane is busy from the first work of a run until an event behind it has passed: no time is counted when
 * the card was asked for nothing, or only for copies. */
static void
the_time_of_work_is_counted(void **state)
{
    CudaBench bench = cuda_bench_open(*state, "", 16 * MIB, 0);
    const uint64_t *busy_ns = &bench.card->counts.busy_ns;
    char message[ERROR_MESSAGE_SIZE];
    TensorBuffer *from = cuda_bench_filled(4096, 1);
    TensorBuffer *there = cuda_bench_new(&bench, 4096);
    cuda_bench_copy(&bench, from, there);
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
    assert_int_equal(atomic_load_relaxed(busy_ns), 0);
    uint64_t before = 0;
    for (int turn = 0; turn < 3; turn++) {
        uint64_t begin_ns = clock_monotonic_ns();
        cuda_bench_lane_fill(&bench, there, turn);
        assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
        uint64_t counted_ns = atomic_load_relaxed(busy_ns);
        assert_in_range(counted_ns - before, 1, clock_monotonic_ns() - begin_ns);
        before = counted_ns;
    }
    cuda_bench_copy(&bench, from, there);
    assert_int_equal(cuda_bench_fence(&bench, message), STATUS_OK);
    assert_int_equal(atomic_load_relaxed(busy_ns), before);
    tensor_buffer_unref(from);
    tensor_buffer_unref(there);
    cuda_bench_close(&bench);
    cuda_on_cpu_reset(true);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CALL_TEST(copies_of_all_sizes_arrive_whole),
        CALL_TEST(copies_that_find_no_chunk_are_delayed),
        CALL_TEST(threads_share_the_lane),
        CALL_TEST(bytes_in_use_stay_flat),
        CALL_TEST(the_time_of_work_is_counted),
    };
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        print_message("skipped: no CUDA device\n");
        return 0;
    }
    cmocka_set_test_filter(getenv("ONE_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
