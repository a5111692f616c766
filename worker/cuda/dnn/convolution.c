/* Happy path: the convolution is described, with the steps behind it → its plan is found, or made → a filter
 * that lies otherwise than the library wants is packed → the convolution is enqueued. Steps that no engine
 * fuses are left to a kernel of their own. What the library will not do is remembered, so that it is not
 * asked again. */
#include "worker/cuda/dnn/convolution.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "worker/cuda/dnn/plan.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/runtime/device_memory.h"

/* PLANS_MAX bounds what shapes that never come again leave behind; then all are forgotten. */
enum { PLANS_MAX = 1024 };

typedef struct KeptPlan {
    DnnDescription description;
    DnnPlan plan;
    bool is_refused;
} KeptPlan;

typedef struct DnnLane {
    CudaLanePart part; /* first */
    const CudaDnn *dnn;
    CudaLane *owner;
    cudaStream_t stream; /* the handle's */
    size_t workspace_size;
    cudnnHandle_t handle; /* NULL: the library gives none */
    Map *plans;           /* KeptPlan by DnnDescription */
} DnnLane;

static uint64_t refusals[DNN_REFUSALS]; /* atomic */

uint64_t
dnn_refusals(DnnRefusal refusal)
{
    return atomic_load_relaxed(&refusals[refusal]);
}

static void
forget_plans(Map *plans)
{
    size_t cursor = 0;
    const MapEntry *entry;
    while ((entry = map_next(plans, &cursor)) != NULL) {
        KeptPlan *kept = map_remove(plans, entry->key);
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

/* Says what the library failed with. An error of the card that it met on the way is told instead. */
static Status
fail_library(Call *call, const CudaDnn *dnn, cudnnStatus_t status, const char *what)
{
    assert(status != CUDNN_STATUS_SUCCESS);
    TRY(cuda_check(call, (int)cudaGetLastError(), what));
    return call_fail(call, dnn_lacks_memory(status) ? STATUS_RESOURCE_EXHAUSTED : STATUS_INTERNAL,
        "%s: cuDNN fails with %s", what, dnn->cudnnGetErrorString(status));
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
        return fail_library(call, lane->dnn, status, "choosing cuDNN's stream");
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
        return fail_library(call, dnn, status, "opening cuDNN");
    }
    lane->handle = NULL;
    (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
    return STATUS_OK;
}

static Status
find_lane(KernelContext *context, const CudaDnn *dnn, const DnnLane **ret_lane)
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

/* Makes a plan. What the library refuses, for whatever reason but memory, is a plan that is refused. */
static cudnnStatus_t
make_plan(const DnnLane *lane, KeptPlan *kept)
{
    cudnnStatus_t status = dnn_plan_choose(
        lane->dnn, lane->handle, &kept->description, (int64_t)lane->workspace_size, &kept->plan);
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

static Status
find_plan(Call *call, const DnnLane *lane, const DnnDescription *description, KeptPlan **ret_kept)
{
    Slice key = slice_of(description, sizeof *description);
    KeptPlan *known = map_get(lane->plans, key);
    if (known != NULL) {
        *ret_kept = known;
        return STATUS_OK;
    }
    if (map_count(lane->plans) >= PLANS_MAX) {
        cuda_lane_forget_code(lane->owner); /* a plan's code may still run on the card */
        forget_plans(lane->plans);
    }
    KeptPlan *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return call_fail_memory(call, "a plan of a convolution");
    }
    made->description = *description;
    cudnnStatus_t status = make_plan(lane, made);
    if (status != CUDNN_STATUS_SUCCESS || !map_put(lane->plans, key, made)) {
        dnn_plan_done(&made->plan);
        memory_free(made);
        return status != CUDNN_STATUS_SUCCESS
                   ? fail_library(call, lane->dnn, status, "planning a convolution")
                   : call_fail_memory(call, "a plan of a convolution");
    }
    *ret_kept = made;
    return STATUS_OK;
}

/* One convolution on its way through the library. */
typedef struct Run {
    KernelContext *context;
    const DnnLane *lane;
    const CudaConvolution *convolution;
    DnnDescription sums;
    CudaMove packing;
} Run;

/* Finds a plan for the convolution with its steps, or else for its sums alone. */
static Status
find_widest_plan(const Run *run, KeptPlan **ret_kept, CudaEpilogue *ret_rest)
{
    DnnDescription fused = run->sums;
    *ret_rest = dnn_fuse(&run->convolution->epilogue, &fused);
    TRY(find_plan(run->context->call, run->lane, &fused, ret_kept));
    assert(*ret_kept != NULL);
    if ((*ret_kept)->is_refused && memcmp(&fused, &run->sums, sizeof fused) != 0) {
        *ret_rest = run->convolution->epilogue;
        return find_plan(run->context->call, run->lane, &run->sums, ret_kept);
    }
    return STATUS_OK;
}

/* Moves the filter to where the library can read it, or its gradient from where the library wrote it. */
static Status
move_filter(const Run *run, void *packed)
{
    CudaMove move = run->packing;
    move.to = packed;
    if (run->sums.kind == (int64_t)DNN_TO_FILTER) {
        move.to = without_const(run->packing.from);
        move.from = packed;
        memcpy(move.strides[0], run->packing.strides[1], sizeof move.strides[0]);
        memcpy(move.strides[1], run->packing.strides[0], sizeof move.strides[1]);
    }
    int error = cuda_move(dtype_size((Dtype)run->sums.type), &move, cuda_stream(run->context));
    return cuda_check(run->context->call, error, "packing the filter of a convolution");
}

static cudnnStatus_t
run_plan(const Run *run, const KeptPlan *kept, const void *filter, void *workspace)
{
    const CudaConvolution *convolution = run->convolution;
    DnnOperands operands = {
        .input = convolution->input,
        .filter = filter,
        .bias = convolution->epilogue.bias,
        .addend = convolution->epilogue.addend,
        .output = convolution->output,
        .workspace = workspace,
    };
    (void)cuda_stream(run->context); /* the handle has it; this names the node whose work comes */
    return dnn_plan_run(&kept->plan, run->lane->handle, &kept->description, &operands);
}

static Status
enqueue_packed(const Run *run, const KeptPlan *kept, void *packed, void *workspace, cudnnStatus_t *ret_status)
{
    bool is_result = run->sums.kind == (int64_t)DNN_TO_FILTER;
    if (!is_result) {
        TRY(move_filter(run, packed));
    }
    *ret_status = run_plan(run, kept, packed, workspace);
    return is_result && *ret_status == CUDNN_STATUS_SUCCESS ? move_filter(run, packed) : STATUS_OK;
}

/* Enqueues the plan; `ret_status` is what the library says of it. The buffer of a packed filter may be given
 * back as soon as all is enqueued: whoever gets it next writes to it behind that. */
static Status
enqueue(const Run *run, const KeptPlan *kept, cudnnStatus_t *ret_status)
{
    KernelContext *context = run->context;
    void *workspace = NULL;
    TRY(cuda_lane_workspace(context->call, cuda_lane(context->lane), &workspace));
    if (run->packing.count == 0) {
        *ret_status = run_plan(run, kept, run->convolution->filter, workspace);
        return STATUS_OK;
    }
    size_t size = (size_t)run->packing.count * dtype_size((Dtype)run->sums.type);
    TensorBuffer *packed = device_allocate(context->device, size, context->account);
    if (packed == NULL) {
        return call_fail_memory(context->call, "a packed filter");
    }
    Status status = enqueue_packed(run, kept, packed->data, workspace, ret_status);
    tensor_buffer_unref(packed);
    return status;
}

static Status
run_convolution(const Run *run, DnnRefusal *ret_refusal, CudaEpilogue *ret_rest)
{
    Call *call = run->context->call;
    KeptPlan *kept = NULL;
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    if (run->lane->handle == NULL) {
        *ret_refusal = DNN_NO_HANDLE;
        return STATUS_OK;
    }
    TRY(find_widest_plan(run, &kept, ret_rest));
    if (!kept->is_refused) {
        TRY(enqueue(run, kept, &status));
    }
    if (dnn_refuses(status)) {
        kept->is_refused = true;
        *ret_refusal = DNN_NO_ENGINE;
        (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
        return STATUS_OK;
    }
    return status == CUDNN_STATUS_SUCCESS ? cuda_check(call, (int)cudaGetLastError(), "a convolution")
                                          : fail_library(call, run->lane->dnn, status, "a convolution");
}

Status
dnn_convolve(KernelContext *context, DnnKind kind, CudaType type, const CudaConvolution *convolution,
    DnnRefusal *ret_refusal, CudaEpilogue *ret_rest)
{
    const CudaDnn *dnn = cuda_dnn();
    Run run = {.context = context, .convolution = convolution};
    DnnRefusal refusal =
        dnn == NULL ? DNN_NO_LIBRARY : dnn_describe(kind, type, convolution, &run.sums, &run.packing);
    if (refusal == DNN_ACCEPTED) {
        TRY(find_lane(context, dnn, &run.lane));
        TRY(run_convolution(&run, &refusal, ret_rest));
    }
    (void)atomic_fetch_add_relaxed(&refusals[refusal], 1);
    DeviceCounts *counts = &context->device->counts;
    atomic_add_relaxed(refusal == DNN_ACCEPTED ? &counts->library : &counts->plain, 1);
    *ret_refusal = refusal;
    return STATUS_OK;
}
