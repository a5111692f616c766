#include "worker/cuda/dnn/lane.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"

/* PLANS_MAX bounds what shapes that never come again leave behind; then all are forgotten. */
enum { PLANS_MAX = 1024 };

static void
forget_plans(Map *plans)
{
    size_t cursor = 0;
    const MapEntry *entry;
    while ((entry = map_next(plans, &cursor)) != NULL) {
        DnnKeptPlan *kept = map_remove(plans, entry->key);
        dnn_plan_done(&kept->plan);
        memory_free(kept);
    }
}

static void
free_lane(CudaLanePart *part)
{
    DnnLane *lane = (DnnLane *)(void *)part;
    forget_plans(lane->plans);
    map_free(lane->plans);
    if (lane->handle != NULL) {
        (void)lane->dnn->cudnnDestroy(lane->handle);
    }
    memory_free(lane);
}

Status
dnn_lane_fail(Call *call, const DnnLane *lane, cudnnStatus_t status, const char *what)
{
    assert(status != CUDNN_STATUS_SUCCESS);
    TRY(cuda_check(call, (int)cudaGetLastError(), what));
    return call_fail(call, dnn_lacks_memory(status) ? STATUS_RESOURCE_EXHAUSTED : STATUS_INTERNAL,
        "%s: cuDNN fails with %s", what, lane->dnn->cudnnGetErrorString(status));
}

/* Has the handle enqueue where the lane's turn does: a part that is being captured has a stream of its own.
 */
static Status
choose_stream(Call *call, DnnLane *lane)
{
    cudaStream_t stream = cuda_lane_stream(lane->owner);
    if (lane->handle == NULL || lane->stream == stream) {
        return STATUS_OK;
    }
    cudnnStatus_t status = lane->dnn->cudnnSetStream(lane->handle, stream);
    if (status != CUDNN_STATUS_SUCCESS) {
        return dnn_lane_fail(call, lane, status, "choosing cuDNN's stream");
    }
    lane->stream = stream;
    return STATUS_OK;
}

/* A library that does not work here at all gives no handle: then the lane has none, for good. */
static Status
open_lane(Call *call, DnnLane *lane)
{
    const CudaDnn *dnn = lane->dnn;
    lane->plans = map_new();
    if (lane->plans == NULL) {
        return call_fail_memory(call, "cuDNN's plans");
    }
    cudnnStatus_t status = dnn->cudnnCreate(&lane->handle);
    if (status == CUDNN_STATUS_SUCCESS) {
        return STATUS_OK;
    }
    if (dnn_lacks_memory(status)) {
        return dnn_lane_fail(call, lane, status, "opening cuDNN");
    }
    lane->handle = NULL;
    (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
    return STATUS_OK;
}

Status
dnn_lane_find(KernelContext *context, const CudaDnn *dnn, DnnLane **ret_lane)
{
    CudaLane *lane = cuda_lane(context->lane);
    assert(cuda_lane_is_mine(lane));
    if (lane->parts[CUDA_LANE_DNN] == NULL) {
        DnnLane *made = memory_new(1, sizeof *made);
        if (made == NULL) {
            return call_fail_memory(context->call, "cuDNN's handle");
        }
        *made = (DnnLane){
            .part = {.free = free_lane}, .dnn = dnn, .owner = lane, .workspace_size = lane->workspace_size};
        Status status = open_lane(context->call, made);
        if (status != STATUS_OK) {
            free_lane(&made->part);
            return status;
        }
        lane->parts[CUDA_LANE_DNN] = &made->part;
    }
    DnnLane *found = (DnnLane *)(void *)lane->parts[CUDA_LANE_DNN];
    *ret_lane = found;
    return choose_stream(context->call, found);
}

static cudnnStatus_t
make_plan(const DnnLane *lane, const DnnRequest *request, DnnKeptPlan *kept)
{
    cudnnStatus_t status =
        dnn_plan_choose(lane->dnn, lane->handle, request, (int64_t)lane->workspace_size, &kept->plan);
    if (dnn_lacks_memory(status)) {
        return status;
    }
    kept->is_refused = status != CUDNN_STATUS_SUCCESS;
    if (kept->is_refused) {
        dnn_plan_done(&kept->plan);
    }
    (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
    return CUDNN_STATUS_SUCCESS;
}

Status
dnn_lane_plan(Call *call, const DnnLane *lane, const DnnRequest *request, DnnKeptPlan **ret_kept)
{
    DnnKeptPlan *known = map_get(lane->plans, request->description);
    if (known != NULL) {
        *ret_kept = known;
        return STATUS_OK;
    }
    if (map_count(lane->plans) >= PLANS_MAX) {
        cuda_lane_forget_code(lane->owner); /* a plan's code may still run on the card */
        forget_plans(lane->plans);
    }
    DnnKeptPlan *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, request->what);
    }
    cudnnStatus_t status = make_plan(lane, request, made);
    if (status != CUDNN_STATUS_SUCCESS || !map_put(lane->plans, request->description, made)) {
        dnn_plan_done(&made->plan);
        memory_free(made);
        return status != CUDNN_STATUS_SUCCESS ? dnn_lane_fail(call, lane, status, request->what)
                                              : call_fail_memory(call, request->what);
    }
    *ret_kept = made;
    return STATUS_OK;
}
