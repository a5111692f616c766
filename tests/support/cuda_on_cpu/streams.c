#include "tests/support/cuda_on_cpu/streams.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/cuda_on_cpu/grid.h"
#include "tests/support/cuda_on_cpu/memory.h"
#include "tests/support/cuda_on_cpu/runtime.h"

enum { STREAMS_MAX = 256, FUNCTIONS_MAX = 64, SHARED_DEFAULT = 48 << 10, SHARED_MAX = 227 << 10 };

/* One piece of a stream's work: a kernel, a copy or a fill; shared by the graphs that hold it. */
typedef struct Work {
    int references;
    void (*run)(struct Work *work);
    KernelLaunch launch;
    void *to;
    const void *from;
    int value;
    size_t size;
} Work;

typedef struct Event Event;
typedef struct Stream Stream;
typedef struct Graph Graph;

typedef struct Step {
    struct Step *next;
    Work *work;
    Event *records;
    Event *waits_for;
    uint64_t turn; /* of the event */
} Step;

struct Event {
    int references;
    unsigned flags;
    uint64_t recorded;
    uint64_t completed;
    double completed_ms;
    Stream *stream;          /* of the last record */
    uint64_t capture_number; /* of the capture that the last record is in; 0: in none */
    size_t position;         /* in the capture */
};

struct Stream {
    Step *first;
    Step **end;
    int device;
    Graph *capture;
    bool is_origin;
    size_t captured; /* number of its last work in the capture */
    size_t joined;   /* number of its work that another stream of the capture has waited for */
};

struct Graph {
    Work **works;
    size_t count;
    uint64_t capture_number;
    enum cudaStreamCaptureMode mode;
    pthread_t thread;
    bool is_invalid;
};

static Stream *streams[STREAMS_MAX];
static size_t stream_count;

static struct {
    const void *kernel;
    size_t shared_size;
} shared_limits[FUNCTIONS_MAX];
static size_t shared_limit_count;

/* Returns zeroes. Never by calloc(), into which compilers turn malloc() and memset(): tests have it fail
 * (tests/support/fail_alloc.h). */
static void *
allocate(size_t size)
{
    void *data = NULL;
    int code = posix_memalign(&data, sizeof(max_align_t), size);
    assert(code == 0);
    memset(data, 0, size);
    return data;
}

static void
unref_work(Work *work)
{
    if (work != NULL && --work->references == 0) {
        free(work->launch.arguments);
        free(work);
    }
}

static void
unref_event(Event *event)
{
    if (event != NULL && --event->references == 0) {
        free(event);
    }
}

static void
free_step(Step *step)
{
    unref_work(step->work);
    unref_event(step->records);
    unref_event(step->waits_for);
    free(step);
}

static void
enqueue(Stream *stream, Step step)
{
    Step *made = allocate(sizeof *made);
    *made = step;
    *stream->end = made;
    stream->end = &made->next;
}

static double
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void
run_step(Step *step)
{
    if (step->work != NULL && runtime_broken() == cudaSuccess) {
        device_memory_open();
        step->work->run(step->work);
        device_memory_close();
    }
    if (step->records != NULL) {
        step->records->completed = step->turn;
        step->records->completed_ms = now_ms();
    }
}

/* Does the next work of the stream, or of the one that it waits for. Returns false when there is none. */
static bool
advance(Stream *stream)
{
    Step *step = stream->first;
    if (step == NULL) {
        return false;
    }
    Event *awaited = step->waits_for;
    if (awaited != NULL && awaited->completed < step->turn) {
        return advance(awaited->stream);
    }
    stream->first = step->next;
    if (stream->first == NULL) {
        stream->end = &stream->first;
    }
    run_step(step);
    free_step(step);
    return true;
}

static void
finish(Stream *stream)
{
    while (advance(stream)) {}
}

static void
finish_event(Event *event)
{
    while (event->completed < event->recorded && advance(event->stream)) {}
}

/* Lets some streams get on a little: what others do meanwhile is never certain. */
static void
draw_progress(void)
{
    enum { ONE_IN = 4 };
    while (stream_count > 0 && grid_random(ONE_IN) == 0) {
        (void)advance(streams[grid_random(stream_count)]);
    }
}

static Stream *
new_stream(void)
{
    assert(stream_count < STREAMS_MAX);
    Stream *stream = allocate(sizeof *stream);
    stream->end = &stream->first;
    stream->device = runtime_device();
    streams[stream_count++] = stream;
    return stream;
}

/* The legacy stream is never used by the plugin: it waits for all others, and they for it. */
static Stream *
stream_of(cudaStream_t handle)
{
    if (handle == NULL) {
        fprintf(stderr, "cuda_on_cpu: work was enqueued in the legacy default stream\n");
        abort();
    }
    return (Stream *)(void *)handle;
}

static cudaStream_t
handle_of(Stream *stream)
{
    return (cudaStream_t)(void *)stream;
}

static void
free_graph(Graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        unref_work(graph->works[i]);
    }
    free(graph->works);
    free(graph);
}

static void
record_work(Stream *stream, Work *work)
{
    Graph *graph = stream->capture;
    Work **works = realloc(graph->works, (graph->count + 1) * sizeof(Work *));
    assert(works != NULL);
    graph->works = works;
    graph->works[graph->count++] = work;
    stream->captured = graph->count;
}

/* Takes over the reference to `work`. */
static void
do_later(Stream *stream, Work *work)
{
    if (stream->capture != NULL) {
        record_work(stream, work);
    } else {
        enqueue(stream, (Step){.work = work});
        draw_progress();
    }
}

static Work *
new_work(void (*run)(Work *))
{
    Work *work = allocate(sizeof *work);
    work->references = 1;
    work->run = run;
    return work;
}

void
streams_finish(void)
{
    for (size_t i = 0; i < stream_count; i++) {
        finish(streams[i]);
    }
}

static void
drop_stream(Stream *stream)
{
    while (stream->first != NULL) {
        Step *step = stream->first;
        stream->first = step->next;
        free_step(step);
    }
    free(stream);
}

void
streams_drop(void)
{
    for (size_t i = 0; i < stream_count; i++) {
        drop_stream(streams[i]);
    }
    stream_count = 0;
    shared_limit_count = 0;
}

/* CUDA C Programming Guide, "Prohibited and Unhandled Operations": a capture in global mode forbids such
 * calls to all threads, one in thread-local mode to its own. */
static bool
forbids_unsafe_calls(const Graph *capture)
{
    return capture->mode == cudaStreamCaptureModeGlobal ||
           (capture->mode == cudaStreamCaptureModeThreadLocal &&
               pthread_equal(capture->thread, pthread_self()) != 0);
}

cudaError_t
streams_check_unsafe_call(void)
{
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < stream_count; i++) {
        Graph *capture = streams[i]->capture;
        if (capture != NULL && forbids_unsafe_calls(capture)) {
            capture->is_invalid = true;
            error = cudaErrorStreamCaptureUnsupported;
        }
    }
    return error;
}

/* Returns the capture that the event was recorded in, or NULL when it was none, or has ended. */
static Graph *
find_capture(const Event *event)
{
    for (size_t i = 0; i < stream_count; i++) {
        Graph *capture = streams[i]->capture;
        if (capture != NULL && capture->capture_number == event->capture_number) {
            return capture;
        }
    }
    return NULL;
}

/* Refuses a call that asks how far a stream has got, which makes no sense in a capture. */
static cudaError_t
check_not_capturing(Stream *stream)
{
    if (stream->capture == NULL) {
        return cudaSuccess;
    }
    stream->capture->is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
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
    Work *work = new_work(run_kernel);
    work->launch = *launch;
    cudaError_t error = runtime_enter("launch");
    if (error == cudaSuccess) {
        error = check_launch(launch, stream_of(stream));
    }
    if (error == cudaSuccess) {
        do_later(stream_of(stream), work);
    } else {
        unref_work(work);
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
    Work *work = new_work(run_copy);
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
        error = streams_check_unsafe_call();
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
        Work *work = new_work(run_fill);
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
        *ret_stream = handle_of(new_stream());
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
    Stream *stream = stream_of(handle);
    finish(stream);
    for (size_t i = 0; i < stream_count; i++) {
        if (streams[i] == stream) {
            streams[i] = streams[--stream_count];
            drop_stream(stream);
            break;
        }
    }
    return runtime_leave(error);
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaStreamSynchronize");
    if (error == cudaSuccess) {
        error = check_not_capturing(stream_of(stream));
    }
    if (error == cudaSuccess) {
        finish(stream_of(stream));
        error = runtime_broken();
    }
    return runtime_leave(error);
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = runtime_enter("cudaStreamQuery");
    if (error == cudaSuccess) {
        error = check_not_capturing(stream_of(stream));
    }
    if (error == cudaSuccess) {
        draw_progress();
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
        error = streams_check_unsafe_call();
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
        Event *made = allocate(sizeof *made);
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
    unref_event((Event *)(void *)event);
    return runtime_leave(error);
}

static void
record_event(Event *event, Stream *stream)
{
    event->stream = stream;
    event->capture_number = stream->capture == NULL ? 0 : stream->capture->capture_number;
    event->position = stream->captured;
    if (stream->capture == NULL) {
        event->references++;
        enqueue(stream, (Step){.records = event, .turn = ++event->recorded});
        draw_progress();
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

/* An event of a capture takes the stream that waits for it into the capture; the list keeps the order. */
static cudaError_t
wait_for_captured(Stream *stream, Event *event, Graph *capture)
{
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->is_invalid = true;
        capture->is_invalid = true;
        return cudaErrorStreamCaptureMerge;
    }
    if (stream->capture == NULL) {
        stream->capture = capture;
        stream->is_origin = false;
        stream->captured = 0;
        stream->joined = 0;
    }
    if (event->stream->joined < event->position) {
        event->stream->joined = event->position;
    }
    return cudaSuccess;
}

static cudaError_t
wait_for_event(Stream *stream, Event *event)
{
    Graph *capture = find_capture(event);
    if (capture != NULL) {
        return wait_for_captured(stream, event, capture);
    }
    if (stream->capture != NULL) {
        stream->capture->is_invalid = true;
        return cudaErrorStreamCaptureIsolation;
    }
    if (event->recorded > event->completed) {
        event->references++;
        enqueue(stream, (Step){.waits_for = event, .turn = event->recorded});
    }
    draw_progress();
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

static cudaError_t
check_not_captured(const Event *event)
{
    Graph *capture = find_capture(event);
    if (capture == NULL) {
        return cudaSuccess;
    }
    capture->is_invalid = true;
    return cudaErrorCapturedEvent;
}

cudaError_t
cudaEventQuery(cudaEvent_t handle)
{
    Event *event = (Event *)(void *)handle;
    cudaError_t error = runtime_enter("cudaEventQuery");
    if (error == cudaSuccess) {
        error = check_not_captured(event);
    }
    if (error == cudaSuccess) {
        draw_progress();
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
        error = check_not_captured(event);
    }
    if (error == cudaSuccess) {
        finish_event(event);
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

cudaError_t
cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = runtime_enter("cudaStreamBeginCapture");
    Stream *stream = stream_of(handle);
    if (error == cudaSuccess && stream->capture != NULL) {
        error = cudaErrorIllegalState;
    }
    if (error == cudaSuccess) {
        static uint64_t capture_count;
        stream->capture = allocate(sizeof(Graph));
        stream->capture->capture_number = ++capture_count;
        stream->capture->mode = mode;
        stream->capture->thread = pthread_self();
        stream->is_origin = true;
        stream->captured = 0;
        stream->joined = 0;
    }
    return runtime_leave(error);
}

static cudaError_t
check_end(const Stream *origin)
{
    const Graph *capture = origin->capture;
    if (capture == NULL) {
        return cudaErrorIllegalState;
    }
    if (!origin->is_origin) {
        return cudaErrorStreamCaptureUnmatched;
    }
    bool is_own = pthread_equal(capture->thread, pthread_self()) != 0;
    return is_own || capture->mode == cudaStreamCaptureModeRelaxed ? cudaSuccess
                                                                   : cudaErrorStreamCaptureWrongThread;
}

static cudaError_t
end_capture(Stream *origin, Graph **ret_graph)
{
    Graph *capture = origin->capture;
    cudaError_t error = capture->is_invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (size_t i = 0; i < stream_count; i++) {
        Stream *stream = streams[i];
        if (stream->capture != capture) {
            continue;
        }
        if (error == cudaSuccess && !stream->is_origin && stream->captured > stream->joined) {
            error = cudaErrorStreamCaptureUnjoined;
        }
        stream->capture = NULL;
    }
    *ret_graph = error == cudaSuccess ? capture : NULL;
    if (error != cudaSuccess) {
        free_graph(capture);
    }
    return error;
}

cudaError_t
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    Graph *captured = NULL;
    cudaError_t error = runtime_enter("cudaStreamEndCapture");
    if (error == cudaSuccess) {
        error = check_end(stream_of(stream));
    }
    if (error == cudaSuccess) {
        error = end_capture(stream_of(stream), &captured);
    }
    *graph = (cudaGraph_t)(void *)captured;
    return runtime_leave(error);
}

cudaError_t
cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    cudaError_t error = runtime_enter("cudaStreamIsCapturing");
    const Graph *capture = stream_of(stream)->capture;
    *status = capture == NULL ? cudaStreamCaptureStatusNone
                              : (capture->is_invalid ? cudaStreamCaptureStatusInvalidated
                                                     : cudaStreamCaptureStatusActive);
    return runtime_leave(error);
}

cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t handle, unsigned long long flags)
{
    (void)flags;
    const Graph *graph = (const Graph *)(const void *)handle;
    cudaError_t error = runtime_enter("cudaGraphInstantiate");
    if (error == cudaSuccess) {
        Graph *copy = allocate(sizeof *copy);
        copy->works = allocate((graph->count + 1) * sizeof(Work *));
        for (size_t i = 0; i < graph->count; i++) {
            graph->works[i]->references++;
            copy->works[copy->count++] = graph->works[i];
        }
        *executable = (cudaGraphExec_t)(void *)copy;
    }
    return runtime_leave(error);
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    const Graph *graph = (const Graph *)(const void *)executable;
    cudaError_t error = runtime_enter("cudaGraphLaunch");
    if (error == cudaSuccess) {
        error = check_not_capturing(stream_of(stream));
    }
    if (error == cudaSuccess) {
        for (size_t i = 0; i < graph->count; i++) {
            graph->works[i]->references++;
            do_later(stream_of(stream), graph->works[i]);
        }
    }
    return runtime_leave(error);
}

cudaError_t
cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    (void)nodes;
    cudaError_t error = runtime_enter("cudaGraphGetNodes");
    *count = ((const Graph *)(const void *)graph)->count;
    return runtime_leave(error);
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = runtime_enter("cudaGraphDestroy");
    free_graph((Graph *)(void *)graph);
    return runtime_leave(error);
}

cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    cudaError_t error = runtime_enter("cudaGraphExecDestroy");
    free_graph((Graph *)(void *)executable);
    return runtime_leave(error);
}
