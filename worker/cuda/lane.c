#include "worker/cuda/lane.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/rules.h"

/* Its address tells a thread from all others. */
static _Thread_local char this_thread;

bool
cuda_lane_is_mine(const CudaLane *lane)
{
    return atomic_load_relaxed(&lane->holder) == (uintptr_t)&this_thread;
}

cudaStream_t
cuda_lane_stream(const CudaLane *lane)
{
    assert(cuda_lane_is_mine(lane));
    return lane->captured == NULL ? lane->stream : lane->recording;
}

cudaStream_t
cuda_stream(const KernelContext *context)
{
    CudaLane *lane = cuda_lane(context->lane);
    cudaStream_t stream = cuda_lane_stream(lane);
    (void)snprintf(lane->node, sizeof lane->node, "%.*s", SLICE_PRINT(context->node->name));
    return stream;
}

Status
cuda_lane_workspace(Call *call, CudaLane *lane, void **ret_workspace)
{
    assert(cuda_lane_is_mine(lane));
    if (lane->workspace == NULL) {
        void *made = NULL;
        TRY(cuda_check(call, (int)cudaMalloc(&made, lane->workspace_size), "the workspace of libraries"));
        lane->workspace = made;
    }
    *ret_workspace = lane->workspace;
    return STATUS_OK;
}

void
cuda_lane_enter(CudaLane *lane)
{
    assert(!cuda_lane_is_mine(lane));
    mutex_lock(&lane->lock);
    atomic_store_relaxed(&lane->holder, (uintptr_t)&this_thread);
    atomic_store_relaxed(&lane->position, lane->position + 1);
    lane->error = CUDA_KEEPS(CUDA_ENTERS_FIRST) ? (int)cudaSetDevice(lane->card) : cudaSuccess;
}

/* An error of a call whose code nobody looked at is found here, not by the next one's launch. */
int
cuda_lane_leave(CudaLane *lane)
{
    assert(cuda_lane_is_mine(lane));
    int error = lane->error;
    int launched = CUDA_KEEPS(CUDA_ERRORS_AT_ONCE) ? (int)cudaGetLastError() : cudaSuccess;
    atomic_store_relaxed(&lane->holder, (uintptr_t)0);
    mutex_unlock(&lane->lock);
    return error != cudaSuccess ? error : launched;
}

void
cuda_lane_note_work(CudaLane *lane)
{
    assert(cuda_lane_is_mine(lane));
    mutex_lock(&lane->busy_lock);
    if (lane->busy_since_ns == 0) {
        lane->busy_since_ns = clock_monotonic_ns();
    }
    mutex_unlock(&lane->busy_lock);
}

/* A turn that began before the lock was taken has its position told; one that begins later finds the lane
 * idle, and makes it busy again. */
static void
count_busy_time(CudaLane *lane, uint64_t passed)
{
    mutex_lock(&lane->busy_lock);
    if (lane->busy_since_ns != 0) {
        uint64_t now_ns = clock_monotonic_ns();
        atomic_add_relaxed(lane->busy_ns, now_ns - lane->busy_since_ns);
        lane->busy_since_ns = passed >= atomic_load_relaxed(&lane->position) ? 0 : now_ns;
    }
    mutex_unlock(&lane->busy_lock);
}

/* Takes note of an event of the lane that has passed. Called by its watcher's thread alone. */
static void
note_passed(void *context, uint64_t position)
{
    CudaLane *lane = context;
    if (position > atomic_load_relaxed(&lane->passed)) {
        atomic_store_release(&lane->passed, position);
    }
    count_busy_time(lane, position);
}

static int
record_mark(CudaLane *lane, CudaEvent **ret_event)
{
    CudaEvent *event = NULL;
    int error = cuda_events_take(lane->events, &event);
    if (error != cudaSuccess) {
        return error;
    }
    error = (int)cudaEventRecord(event->event, cuda_lane_stream(lane));
    if (error != cudaSuccess) {
        cuda_events_give(event);
        return error;
    }
    event->position = lane->position;
    (void)snprintf(event->node, sizeof event->node, "%s", lane->node);
    *ret_event = event;
    return cudaSuccess;
}

int
cuda_lane_mark(CudaLane *lane, void (*passed)(void *context, int error), void *context)
{
    CudaEvent *event = NULL;
    int error = record_mark(lane, &event);
    if (error == cudaSuccess) {
        event->passed = passed;
        event->context = context;
        cuda_watcher_add(lane->watcher, event);
    }
    return error;
}

/* Marks the end of the lane for `stream`, which is ordered before the watcher may use the event again. */
static int
order_behind_mark(CudaLane *lane, cudaStream_t stream)
{
    CudaEvent *event = NULL;
    cuda_lane_enter(lane);
    int error = record_mark(lane, &event);
    if (error == cudaSuccess) {
        error = (int)cudaStreamWaitEvent(stream, event->event, 0);
        cuda_watcher_add(lane->watcher, event);
    }
    int left = cuda_lane_leave(lane);
    return error != cudaSuccess ? error : left;
}

int
cuda_lane_order(CudaLane *lane, uint64_t position, cudaStream_t stream)
{
    assert(position <= atomic_load_relaxed(&lane->position));
    if (position <= atomic_load_acquire(&lane->passed) ||
        cuda_watcher_lend(lane->watcher, position, stream)) {
        return cudaSuccess;
    }
    return order_behind_mark(lane, stream);
}

void
cuda_lane_forget_code(CudaLane *lane)
{
    assert(cuda_lane_is_mine(lane));
    lane->code_number++;
    (void)cudaStreamSynchronize(lane->stream);
}

void
cuda_lane_renew_code(CudaLane *lane)
{
    cuda_lane_enter(lane);
    lane->code_number++;
    int left = cuda_lane_leave(lane);
    if (left != cudaSuccess) {
        (void)cuda_failure(left, "renewing captured work", (Slice){0});
    }
}

int
cuda_lane_drain(CudaLane *lane)
{
    assert(!cuda_lane_is_mine(lane));
    return (int)cudaStreamSynchronize(lane->stream);
}

Status
cuda_lane_init(Call *call, CudaLane *lane, const CudaLaneOptions *options)
{
    *lane = (CudaLane){.card = options->card,
        .events = options->events,
        .workspace_size = options->workspace_size,
        .busy_ns = options->busy_ns,
        .position = CUDA_CAPTURED_TURNS,
        .passed = CUDA_CAPTURED_TURNS};
    mutex_init(&lane->lock);
    mutex_init(&lane->busy_lock);
    TRY(cuda_check(
        call, (int)cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking), "making a stream"));
    TRY(cuda_check(
        call, (int)cudaStreamCreateWithFlags(&lane->recording, cudaStreamNonBlocking), "making a stream"));
    CudaWatcherOptions watcher = {
        .host = options->host, .card = options->card, .passed = note_passed, .context = lane};
    return cuda_watcher_new(call, &watcher, &lane->watcher);
}

static void
free_parts(CudaLane *lane)
{
    for (size_t index = 0; index < COUNT_OF(lane->parts); index++) {
        if (lane->parts[index] != NULL) {
            lane->parts[index]->free(lane->parts[index]);
            lane->parts[index] = NULL;
        }
    }
    (void)cudaFree(lane->workspace);
    lane->workspace = NULL;
}

void
cuda_lane_done(CudaLane *lane)
{
    if (lane->events == NULL) {
        return;
    }
    cuda_watcher_free(lane->watcher);
    if (lane->stream != NULL) {
        (void)cudaStreamSynchronize(lane->stream);
        free_parts(lane);
        (void)cudaStreamDestroy(lane->stream);
    }
    if (lane->recording != NULL) {
        (void)cudaStreamDestroy(lane->recording);
    }
    mutex_done(&lane->busy_lock);
    mutex_done(&lane->lock);
}
