#include "tests/support/cuda_on_cpu/cuda_bench.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/atomic.h"

static bool
is_turn_of(const void *lane)
{
    return cuda_lane_is_mine(lane);
}

CudaBench
cuda_bench_open(Call *call, const char *device, uint64_t memory, uint64_t pinned)
{
    PluginOptions options = {.device = device, .memory = memory, .pinned_memory = pinned};
    return cuda_bench_open_with(call, options);
}

CudaBench
cuda_bench_open_with(Call *call, PluginOptions options)
{
    CudaBench bench = {0};
    CpuDeviceOptions host = {.thread_count = 3, .memory_limit = 256 * MIB};
    assert_status(call, STATUS_OK, cpu_device_new(call, &host, &bench.host));
    const char *libraries = getenv("CUDA_LIBRARIES");
    options.host = bench.host;
    options.libraries = libraries == NULL ? "" : libraries;
    assert_status(call, STATUS_OK, cuda_device_open(call, &options, &bench.opened));
    bench.card = bench.opened.device;
    bench.lane = bench.card->open_lane(bench.card);
    assert_non_null(bench.lane);
    CudaLane *lane = cuda_lane(bench.lane);
    cuda_on_cpu_guard(lane->stream, is_turn_of, lane);
    return bench;
}

void
cuda_bench_close(CudaBench *bench)
{
    bench->card->close_lane(bench->card, bench->lane);
    cuda_device_close(&bench->opened);
    cpu_device_free(bench->host);
}

static void
copy_done(DeviceCopy *copy, const Failure *failure)
{
    WaitedCopy *waited = (WaitedCopy *)(void *)copy;
    waited->status = failure == NULL ? STATUS_OK : failure->code;
    (void)snprintf(waited->message, sizeof waited->message, "%s", failure == NULL ? "" : failure->message);
    atomic_store_release(&waited->is_done, 1);
}

void
cuda_bench_begin(const CudaBench *bench, WaitedCopy *waited, TensorBuffer *from, TensorBuffer *to)
{
    *waited = (WaitedCopy){.copy = {.lane = bench->lane,
                               .from = from,
                               .to = to,
                               .size = from->size < to->size ? from->size : to->size,
                               .done = copy_done}};
    bench->card->copy(bench->card, &waited->copy);
}

Status
cuda_bench_await(WaitedCopy *waited)
{
    AWAIT(atomic_load_acquire(&waited->is_done) != 0);
    return waited->status;
}

void
cuda_bench_copy(const CudaBench *bench, TensorBuffer *from, TensorBuffer *to)
{
    WaitedCopy waited;
    cuda_bench_begin(bench, &waited, from, to);
    (void)cuda_bench_await(&waited);
    assert_string_equal(waited.message, "");
}

typedef struct WaitedFence {
    DeviceFence fence;
    int32_t has_passed;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
} WaitedFence;

static void
fence_passed(DeviceFence *fence, const Failure *failure)
{
    WaitedFence *waited = (WaitedFence *)(void *)fence;
    waited->status = failure == NULL ? STATUS_OK : failure->code;
    (void)snprintf(waited->message, sizeof waited->message, "%s", failure == NULL ? "" : failure->message);
    atomic_store_release(&waited->has_passed, 1);
}

Status
cuda_bench_fence(const CudaBench *bench, char ret_message[ERROR_MESSAGE_SIZE])
{
    WaitedFence waited = {.fence = {.lane = bench->lane, .passed = fence_passed}};
    bench->card->fence(bench->card, &waited.fence);
    AWAIT(atomic_load_acquire(&waited.has_passed) != 0);
    (void)snprintf(ret_message, ERROR_MESSAGE_SIZE, "%s", waited.message);
    return waited.status;
}

DeviceMemory
cuda_bench_memory(const CudaBench *bench)
{
    DeviceMemory memory = {0};
    bench->card->memory(bench->card, &memory);
    return memory;
}

TensorBuffer *
cuda_bench_new(const CudaBench *bench, size_t size)
{
    TensorBuffer *made = bench->card->allocate(bench->card, size);
    assert_non_null(made);
    return made;
}

TensorBuffer *
cuda_bench_filled(size_t size, unsigned seed)
{
    TensorBuffer *made = tensor_buffer_new(size);
    assert_non_null(made);
    unsigned char *bytes = made->data;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(i * 31 + i / 251 + (size_t)seed * 7);
    }
    return made;
}

bool
cuda_bench_has(const CudaBench *bench, TensorBuffer *buffer, unsigned seed)
{
    TensorBuffer *expected = cuda_bench_filled(buffer->size, seed);
    TensorBuffer *got = cuda_bench_filled(buffer->size, seed + 1);
    cuda_bench_copy(bench, buffer, got);
    bool is_equal = memcmp(expected->data, got->data, buffer->size) == 0;
    tensor_buffer_unref(expected);
    tensor_buffer_unref(got);
    return is_equal;
}

static void
leave_well(const CudaBench *bench)
{
    Call call = {0};
    assert_status(&call, STATUS_OK, bench->card->leave(&call, bench->card, bench->lane));
}

void
cuda_bench_lane_fill(const CudaBench *bench, TensorBuffer *buffer, int byte)
{
    bench->card->enter(bench->card, bench->lane);
    assert_int_equal(
        cudaMemsetAsync(buffer->data, byte, buffer->size, cuda_lane_stream(cuda_lane(bench->lane))),
        cudaSuccess);
    leave_well(bench);
}

void
cuda_bench_lane_copy(const CudaBench *bench, TensorBuffer *from, TensorBuffer *to)
{
    bench->card->enter(bench->card, bench->lane);
    assert_int_equal(cudaMemcpyAsync(to->data, from->data, to->size, cudaMemcpyDeviceToDevice,
                         cuda_lane_stream(cuda_lane(bench->lane))),
        cudaSuccess);
    leave_well(bench);
}

int
signal_of(void (*body)(void *context), void *context)
{
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka would go on with its next test */
        if (freopen("/dev/null", "w", stderr) == NULL) {
            _exit(1);
        }
        body(context);
        _exit(0);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    return WIFSIGNALED(result) ? WTERMSIG(result) : 0;
}
