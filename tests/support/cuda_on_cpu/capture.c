#include "tests/support/cuda_on_cpu/capture.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/support/cuda_on_cpu/activity.h"
#include "tests/support/cuda_on_cpu/runtime.h"

struct Graph {
    Work **works;
    size_t count;
    uint64_t capture_number;
    enum cudaStreamCaptureMode mode;
    pthread_t thread;
    bool is_invalid;
};

static void
free_graph(Graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        work_unref(graph->works[i]);
    }
    free(graph->works);
    free(graph);
}

void
capture_record(Stream *stream, Work *work)
{
    Graph *graph = stream->capture;
    Work **works = realloc(graph->works, (graph->count + 1) * sizeof(Work *));
    assert(works != NULL);
    graph->works = works;
    graph->works[graph->count++] = work;
    stream->captured = graph->count;
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
capture_refuse_unsafe_call(void)
{
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; stream_at(i) != NULL; i++) {
        Graph *capture = stream_at(i)->capture;
        if (capture != NULL && forbids_unsafe_calls(capture)) {
            capture->is_invalid = true;
            error = cudaErrorStreamCaptureUnsupported;
        }
    }
    return error;
}

Graph *
capture_of(const Event *event)
{
    for (size_t i = 0; stream_at(i) != NULL; i++) {
        Graph *capture = stream_at(i)->capture;
        if (capture != NULL && capture->capture_number == event->capture_number) {
            return capture;
        }
    }
    return NULL;
}

uint64_t
capture_number(const Stream *stream)
{
    return stream->capture == NULL ? 0 : stream->capture->capture_number;
}

cudaError_t
capture_break(Stream *stream, cudaError_t error)
{
    stream->capture->is_invalid = true;
    return error;
}

cudaError_t
capture_refuse_stream(Stream *stream)
{
    if (stream->capture == NULL) {
        return cudaSuccess;
    }
    stream->capture->is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

/* An event of a capture takes the stream that waits for it into the capture; the list keeps the order. */
cudaError_t
capture_wait(Stream *stream, Event *event, Graph *capture)
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

cudaError_t
capture_refuse_event(const Event *event)
{
    Graph *capture = capture_of(event);
    if (capture == NULL) {
        return cudaSuccess;
    }
    capture->is_invalid = true;
    return cudaErrorCapturedEvent;
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
        stream->capture = work_allocate(sizeof(Graph));
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
    for (size_t i = 0; stream_at(i) != NULL; i++) {
        Stream *stream = stream_at(i);
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
    cudaError_t ended = check_end(stream_of(stream));
    if (ended == cudaSuccess) {
        ended = end_capture(stream_of(stream), &captured);
    }
    if (error != cudaSuccess && captured != NULL) { /* a capture ends though its end has failed */
        free_graph(captured);
        captured = NULL;
    }
    error = error == cudaSuccess ? ended : error;
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
        Graph *copy = work_allocate(sizeof *copy);
        copy->works = work_allocate((graph->count + 1) * sizeof(Work *));
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
        error = capture_refuse_stream(stream_of(stream));
    }
    if (error == cudaSuccess) {
        uint32_t call = activity_call();
        for (size_t i = 0; i < graph->count; i++) {
            graph->works[i]->references++;
            stream_enqueue(
                stream_of(stream), (Step){.work = graph->works[i], .call = call, .captured = i + 1});
            stream_draw_progress();
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
