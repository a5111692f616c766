#include "tests/support/cuda_on_cpu/streams.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda_on_cpu/activity.h"
#include "tests/support/cuda_on_cpu/capture.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/cuda_on_cpu/grid.h"
#include "tests/support/cuda_on_cpu/memory.h"
#include "tests/support/cuda_on_cpu/runtime.h"

enum { FUNCTIONS_MAX = 64, SHARED_DEFAULT = 48 << 10, SHARED_MAX = 227 << 10 };

static struct {
    const void *kernel;
    size_t shared_size;
} shared_limits[FUNCTIONS_MAX];
static size_t shared_limit_count;

void
cuda_on_cpu_guard(cudaStream_t handle, bool (*may_use)(const void *owner), const void *owner)
{
    Stream *stream = stream_of(handle);
    stream->may_use = may_use;
    stream->owner = owner;
}

static void
check_user(const Stream *stream)
{
    if (stream->may_use != NULL && !stream->may_use(stream->owner)) {
        fprintf(stderr, "cuda_on_cpu: a stream was used by a thread whose turn it is not\n");
        abort();
    }
}

/* Takes over the reference to `work`. */
static void
do_later(Stream *stream, Work *work)
{
    check_user(stream);
    if (stream->capture != NULL) {
        capture_record(stream, work);
    } else {
        stream_enqueue(stream, (Step){.work = work, .call = activity_call()});
        stream_draw_progress();
    }
}

void
streams_finish(void)
{
    for (size_t i = 0; stream_at(i) != NULL; i++) {
        stream_finish(stream_at(i));
    }
}

void
streams_drop(void)
{
    stream_drop_all();
    shared_limit_count = 0;
}

static void
run_kernel(Work *work)
{
    const KernelLaunch *launch = &work->launch;
    runtime_kernel_runs();
    if (runtime_broken() == cudaSuccess) {
        grid_run(launch->grid, launch->block, launch->shared_size, launch->body, launch->arguments);
        device_memory_check("a kernel");
    }
}

static size_t
shared_limit(const void *kernel)
{
    for (size_t i = 0; i < shared_limit_count; i++) {
        if (shared_limits[i].kernel == kernel) {
            return shared_limits[i].shared_size;
        }
    }
    return SHARED_DEFAULT;
}

static cudaError_t
check_launch(const KernelLaunch *launch, const Stream *stream)
{
    enum { THREADS_MAX = 1024, Z_THREADS_MAX = 64, YZ_MAX = 65535 };
    dim3 grid = launch->grid;
    dim3 block = launch->block;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (stream->device != runtime_device()) {
        return cudaErrorInvalidResourceHandle;
    }
    if (threads == 0 || threads > THREADS_MAX || block.z > Z_THREADS_MAX || grid.x == 0 || grid.y == 0 ||
        grid.z == 0 || grid.x > INT32_MAX || grid.y > YZ_MAX || grid.z > YZ_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    return launch->shared_size <= shared_limit(launch->kernel) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cuda_on_cpu_launch(const KernelLaunch *launch, cudaStream_t stream)
{
    Work *work = work_new(run_kernel);
    work->launch = *launch;
    cudaError_t error = runtime_enter("launch");
    if (error == cudaSuccess) {
        error = check_launch(launch, stream_of(stream));
    }
    if (error == cudaSuccess) {
        do_later(stream_of(stream), work);
    } else {
        work_unref(work);
    }
    return runtime_leave(error);
}

cudaError_t
cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error = runtime_enter("cudaFuncSetAttribute");
    if (error == cudaSuccess && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        error = value >= 0 && value <= SHARED_MAX ? cudaSuccess : cudaErrorInvalidValue;
        if (error == cudaSuccess && shared_limit(kernel) < (size_t)value) {
            assert(shared_limit_count < FUNCTIONS_MAX);
            memmove(&shared_limits[1], &shared_limits[0], shared_limit_count * sizeof shared_limits[0]);
            shared_limits[0].kernel = kernel;
            shared_limits[0].shared_size = (size_t)value;
            shared_limit_count++;
        }
    }
    return runtime_leave(error);
}

static void
run_copy(Work *work)
{
    memmove(work->to, work->from, work->size);
}

static void
run_fill(Work *work)
{
    memset(work->to, work->value, work->size);
}

static cudaError_t
check_device_bytes(const void *data, size_t size)
{
    return device_memory_holds(data, size) ? cudaSuccess : cudaErrorInvalidValue;
}

/* Checks one side of a copy. CUDA takes pageable memory of the host in an asynchronous copy, and then waits,
 * or reads it before the call returns, as it likes: the plugin never does that. */
static cudaError_t
check_side(const void *data, size_t size, bool is_host)
{
    if (!is_host) {
        return check_device_bytes(data, size);
    }
    if (!device_memory_is_host(data)) {
        return cudaErrorInvalidValue;
    }
    if (!pinned_memory_holds(data, size)) {
        fprintf(stderr, "cuda_on_cpu: cudaMemcpyAsync() of %zu bytes of pageable memory\n", size);
        abort();
    }
    return cudaSuccess;
}

static cudaError_t
check_copy(const void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
    bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    if (kind == cudaMemcpyDefault) {
        from_host = device_memory_is_host(from);
        to_host = device_memory_is_host(to);
    }
    cudaError_t error = check_side(to, size, to_host);
    return error != cudaSuccess ? error : check_side(from, size, from_host);
}

static void
copy_later(Stream *stream, void *to, const void *from, size_t size)
{
    Work *work = work_new(run_copy);
    work->to = to;
    work->from = from;
    work->size = size;
    do_later(stream, work);
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaMemcpyAsync");
    if (error == cudaSuccess && size > 0) {
        error = check_copy(to, from, size, kind);
    }
    if (error == cudaSuccess && size > 0) {
        copy_later(stream_of(stream), to, from, size);
    }
    return runtime_leave(error);
}

/* The copy that waits, in which pageable memory is usual: for tests, which look into the device's memory with
 * it. */
cudaError_t
cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    (void)kind;
    cudaError_t error = runtime_enter("cudaMemcpy");
    if (error == cudaSuccess) {
        error = capture_refuse_unsafe_call();
    }
    if (error == cudaSuccess && size > 0) {
        streams_finish();
        bool is_good = (device_memory_is_host(to) || device_memory_holds(to, size)) &&
                       (device_memory_is_host(from) || device_memory_holds(from, size));
        error = runtime_broken() != cudaSuccess ? runtime_broken()
                                                : (is_good ? cudaSuccess : cudaErrorInvalidValue);
    }
    if (error == cudaSuccess && size > 0) {
        device_memory_open();
        memmove(to, from, size);
        device_memory_close();
    }
    return runtime_leave(error);
}

cudaError_t
cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaMemsetAsync");
    if (error == cudaSuccess && size > 0) {
        error = check_device_bytes(to, size);
    }
    if (error == cudaSuccess && size > 0) {
        Work *work = work_new(run_fill);
        work->to = to;
        work->value = value;
        work->size = size;
        do_later(stream_of(stream), work);
    }
    return runtime_leave(error);
}

static cudaError_t
make_stream(const char *function, cudaStream_t *ret_stream)
{
    cudaError_t error = runtime_enter(function);
    if (error == cudaSuccess) {
        *ret_stream = stream_handle(stream_new());
    }
    return runtime_leave(error);
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    return make_stream("cudaStreamCreateWithFlags", stream);
}

cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    return make_stream("cudaStreamCreateWithPriority", stream);
}

cudaError_t
cudaStreamDestroy(cudaStream_t handle)
{
    cudaError_t error = runtime_enter("cudaStreamDestroy");
    stream_destroy(stream_of(handle));
    return runtime_leave(error);
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaStreamSynchronize");
    if (error == cudaSuccess) {
        error = capture_refuse_stream(stream_of(stream));
    }
    if (error == cudaSuccess) {
        stream_finish(stream_of(stream));
        error = runtime_broken();
    }
    return runtime_leave(error);
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaStreamQuery");
    if (error == cudaSuccess) {
        error = capture_refuse_stream(stream_of(stream));
    }
    if (error == cudaSuccess) {
        stream_draw_progress();
        error = runtime_broken();
    }
    if (error == cudaSuccess && stream_of(stream)->first != NULL) {
        error = cudaErrorNotReady;
    }
    return runtime_leave(error);
}

cudaError_t
cudaDeviceSynchronize(void)
{
    cudaError_t error = runtime_enter("cudaDeviceSynchronize");
    if (error == cudaSuccess) {
        error = capture_refuse_unsafe_call();
    }
    if (error == cudaSuccess) {
        streams_finish();
        error = runtime_broken();
    }
    return runtime_leave(error);
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    cudaError_t error = runtime_enter("cudaEventCreateWithFlags");
    if (error == cudaSuccess) {
        Event *made = work_allocate(sizeof *made);
        made->references = 1;
        made->flags = flags;
        *event = (cudaEvent_t)(void *)made;
    }
    return runtime_leave(error);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = runtime_enter("cudaEventDestroy");
    event_unref((Event *)(void *)event);
    return runtime_leave(error);
}

static void
record_event(Event *event, Stream *stream)
{
    check_user(stream);
    event->stream = stream;
    event->capture_number = capture_number(stream);
    event->position = stream->captured;
    if (stream->capture == NULL) {
        event->references++;
        stream_enqueue(stream, (Step){.records = event, .turn = ++event->recorded});
        stream_draw_progress();
    }
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaEventRecord");
    if (error == cudaSuccess) {
        record_event((Event *)(void *)event, stream_of(stream));
    }
    return runtime_leave(error);
}

static cudaError_t
wait_for_event(Stream *stream, Event *event)
{
    check_user(stream);
    Graph *capture = capture_of(event);
    if (capture != NULL) {
        return capture_wait(stream, event, capture);
    }
    if (stream->capture != NULL) {
        return capture_break(stream, cudaErrorStreamCaptureIsolation);
    }
    if (event->recorded > event->completed) {
        event->references++;
        stream_enqueue(stream, (Step){.waits_for = event, .turn = event->recorded});
    }
    stream_draw_progress();
    return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    cudaError_t error = runtime_enter("cudaStreamWaitEvent");
    if (error == cudaSuccess) {
        error = wait_for_event(stream_of(stream), (Event *)(void *)event);
    }
    return runtime_leave(error);
}

cudaError_t
cudaEventQuery(cudaEvent_t handle)
{
    Event *event = (Event *)(void *)handle;
    cudaError_t error = runtime_enter("cudaEventQuery");
    if (error == cudaSuccess) {
        error = capture_refuse_event(event);
    }
    if (error == cudaSuccess) {
        stream_draw_progress();
        error = runtime_broken();
    }
    if (error == cudaSuccess && event->completed < event->recorded) {
        error = cudaErrorNotReady;
    }
    return runtime_leave(error);
}

cudaError_t
cudaEventSynchronize(cudaEvent_t handle)
{
    Event *event = (Event *)(void *)handle;
    cudaError_t error = runtime_enter("cudaEventSynchronize");
    if (error == cudaSuccess) {
        error = capture_refuse_event(event);
    }
    if (error == cudaSuccess) {
        stream_finish_event(event);
        error = runtime_broken();
    }
    return runtime_leave(error);
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    Event *from = (Event *)(void *)start;
    Event *to = (Event *)(void *)end;
    cudaError_t error = runtime_enter("cudaEventElapsedTime");
    if (error == cudaSuccess && ((from->flags | to->flags) & cudaEventDisableTiming) != 0) {
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess && (from->completed < from->recorded || to->completed < to->recorded)) {
        error = cudaErrorNotReady;
    }
    if (error == cudaSuccess) {
        *ms = (float)(to->completed_ms - from->completed_ms);
    }
    return runtime_leave(error);
}
