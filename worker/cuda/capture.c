#include "worker/cuda/capture.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"

void
cuda_captures_init(CudaCaptures *captures, CudaLane *lane)
{
    *captures = (CudaCaptures){.lane = lane};
    mutex_init(&captures->lock);
    condition_init(&captures->changed);
}

void
cuda_captures_done(CudaCaptures *captures)
{
    if (captures->lane == NULL) {
        return;
    }
    mutex_lock(&captures->lock);
    while (captures->graph_count > 0) {
        condition_wait(&captures->changed, &captures->lock);
    }
    mutex_unlock(&captures->lock);
    condition_done(&captures->changed);
    mutex_done(&captures->lock);
}

static void
count_graphs(CudaCaptures *captures, int change)
{
    mutex_lock(&captures->lock);
    captures->graph_count += (uint64_t)(int64_t)change;
    condition_signal(&captures->changed);
    mutex_unlock(&captures->lock);
}

/* Called by a thread of the host when the graph's last work has ended. */
static void
destroy(void *context, int error)
{
    DeviceGraph *graph = context;
    CudaCaptures *captures = graph->captures;
    (void)error; /* whoever enqueued the work is told */
    if (graph->executable != NULL) {
        (void)cudaSetDevice(captures->lane->card);
        (void)cudaGraphExecDestroy(graph->executable);
        (void)cudaGetLastError();
    }
    memory_free(graph);
    count_graphs(captures, -1);
}

/* Has the graph destroyed behind the work of the lane so far; in a turn. */
static void
destroy_later(CudaLane *lane, DeviceGraph *graph)
{
    if (cuda_lane_mark(lane, destroy, graph) != cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaStreamSynchronize(lane->stream); /* without an event, this thread has to wait */
        destroy(graph, cudaSuccess);
    }
}

void
cuda_capture_free(DeviceGraph *graph)
{
    CudaLane *lane = graph->captures->lane;
    tensor_buffer_unref(TAKE(graph->record));
    if (cuda_lane_is_mine(lane)) {
        destroy_later(lane, graph);
        return;
    }
    cuda_lane_enter(lane);
    destroy_later(lane, graph);
    int left = cuda_lane_leave(lane);
    if (left != cudaSuccess) {
        (void)cuda_failure(left, "giving captured work up", (Slice){0});
    }
}

/* The record outlives the run, which is not charged for it. */
static TensorBuffer *
new_record(Device *device)
{
    MemoryAccount *before = device->charge(device, NULL);
    TensorBuffer *record = device->allocate(device, sizeof(CudaRefused));
    (void)device->charge(device, before);
    return record;
}

static DeviceGraph *
new_graph(CudaCaptures *captures, Device *device)
{
    DeviceGraph *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->record = new_record(device);
    if (made->record == NULL) {
        memory_free(made);
        return NULL;
    }
    made->captures = captures;
    count_graphs(captures, 1);
    return made;
}

/* A refused capture is no refusal of the card's that a step has met: it is counted as what it is. */
static Status
fail_capture(Call *call, int error, const char *what)
{
    (void)cudaGetLastError();
    if (cudaGetLastError() != cudaSuccess) {
        return cuda_check(call, error, what);
    }
    Status code = error == cudaErrorMemoryAllocation ? STATUS_RESOURCE_EXHAUSTED : STATUS_INTERNAL;
    return call_fail(
        call, code, "%s: %s (CUDA error %d)", what, cudaGetErrorString((cudaError_t)error), error);
}

Status
cuda_capture_begin(Call *call, CudaCaptures *captures, Device *device)
{
    CudaLane *lane = captures->lane;
    DeviceGraph *graph = new_graph(captures, device);
    if (graph == NULL) {
        return call_fail_memory(call, "a captured part");
    }
    cuda_lane_enter(lane);
    int error = (int)cudaStreamBeginCapture(lane->recording, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess) {
        Status status = fail_capture(call, error, "beginning a capture");
        int left = cuda_lane_leave(lane);
        cuda_capture_free(graph);
        return status == STATUS_OK ? cuda_check(call, left, "beginning a capture") : status;
    }
    graph->code_number = lane->code_number;
    lane->captured = graph;
    return STATUS_OK;
}

/* Ends the capture, also of one that is broken: until then its stream takes nothing else. */
static int
end_recording(const CudaLane *lane, DeviceGraph *graph)
{
    cudaGraph_t recorded = NULL;
    int error = (int)cudaStreamEndCapture(lane->recording, &recorded);
    if (error == cudaSuccess) {
        error = (int)cudaGraphInstantiate(&graph->executable, recorded, 0);
    }
    if (recorded != NULL) {
        (void)cudaGraphDestroy(recorded);
    }
    return error;
}

Status
cuda_capture_end(Call *call, CudaCaptures *captures, DeviceGraph **ret_graph)
{
    CudaLane *lane = captures->lane;
    DeviceGraph *graph = TAKE(lane->captured);
    assert(graph != NULL);
    int error = end_recording(lane, graph);
    bool is_stale = graph->code_number != lane->code_number;
    Status status = error == cudaSuccess ? STATUS_OK : fail_capture(call, error, "capturing");
    int left = cuda_lane_leave(lane);
    if (status == STATUS_OK && left != cudaSuccess) {
        status = fail_capture(call, left, "capturing");
    }
    if (status == STATUS_OK && is_stale) {
        status = call_fail(call, STATUS_FAILED_PRECONDITION, "code of a library was unloaded meanwhile");
    }
    if (status != STATUS_OK) {
        cuda_capture_free(graph);
        return status;
    }
    *ret_graph = graph;
    return STATUS_OK;
}

static int
enqueue_moves(const DeviceMove *moves, uint32_t count, cudaStream_t stream)
{
    int error = cudaSuccess;
    for (uint32_t i = 0; i < count && error == cudaSuccess; i++) {
        error =
            (int)cudaMemcpyAsync(moves[i].to, moves[i].from, moves[i].size, cudaMemcpyDeviceToDevice, stream);
    }
    return error;
}

/* Copies the first refused value of the run to the graph's kernels, or back. */
static int
copy_record(const DeviceGraph *graph, TensorBuffer *to, const TensorBuffer *from, cudaStream_t stream)
{
    return graph->turn == 0 ? (int)cudaSuccess
                            : (int)cudaMemcpyAsync(to->data, from->data, sizeof(CudaRefused),
                                  cudaMemcpyDeviceToDevice, stream);
}

static int
enqueue_replay(const CudaRun *run, const DeviceReplay *replay)
{
    const DeviceGraph *graph = replay->graph;
    cudaStream_t stream = cuda_lane_stream(run->lane);
    int error = enqueue_moves(replay->inputs, replay->input_count, stream);
    if (error == cudaSuccess) {
        error = copy_record(graph, graph->record, run->record, stream);
    }
    if (error == cudaSuccess) {
        error = (int)cudaGraphLaunch(graph->executable, stream);
    }
    if (error == cudaSuccess) {
        error = copy_record(graph, run->record, graph->record, stream);
    }
    return error == cudaSuccess ? enqueue_moves(replay->outputs, replay->output_count, stream) : error;
}

Status
cuda_capture_replay(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *replay)
{
    CudaRun *run = cuda_run(lane);
    const DeviceGraph *graph = replay->graph;
    if (graph->code_number != run->lane->code_number) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "code of a library was unloaded meanwhile");
    }
    if (graph->turn > 0) {
        TRY(cuda_run_record(call, device, run));
        cuda_run_blames(run);
    }
    return cuda_check(call, enqueue_replay(run, replay), "replaying captured work");
}
