/* Happy path: the convolution is described, with the steps behind it → its plan is found, or made → a filter
 * that lies otherwise than the library wants is packed → the convolution is enqueued. Steps that no engine
 * fuses are left to a kernel of their own. */
#include "worker/cuda/dnn/convolution.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "worker/cuda/dnn/lane.h"
#include "worker/cuda/errors.h"
#include "worker/runtime/device_memory.h"

static uint64_t refusals[DNN_REFUSALS]; /* atomic */

uint64_t
dnn_refusals(DnnRefusal refusal)
{
    return atomic_load_relaxed(&refusals[refusal]);
}

/* One convolution on its way through the library. */
typedef struct Run {
    KernelContext *context;
    DnnLane *lane;
    const CudaConvolution *convolution;
    DnnDescription sums;
    DnnDescription planned; /* the sums, with those steps that the library fuses */
    CudaMove packing;
} Run;

static Status
find_plan(const Run *run, DnnKeptPlan **ret_kept)
{
    DnnRequest request = dnn_convolution_request(&run->planned);
    return dnn_lane_plan(run->context->call, run->lane, &request, ret_kept);
}

/* Finds a plan for the convolution with its steps, or else for its sums alone. */
static Status
find_widest_plan(Run *run, DnnKeptPlan **ret_kept, CudaEpilogue *ret_rest)
{
    run->planned = run->sums;
    *ret_rest = dnn_fuse(&run->convolution->epilogue, &run->planned);
    TRY(find_plan(run, ret_kept));
    assert(*ret_kept != NULL);
    if ((*ret_kept)->is_refused && memcmp(&run->planned, &run->sums, sizeof run->sums) != 0) {
        run->planned = run->sums;
        *ret_rest = run->convolution->epilogue;
        return find_plan(run, ret_kept);
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
run_plan(const Run *run, const DnnKeptPlan *kept, const void *filter, void *workspace)
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
    return dnn_plan_run(&kept->plan, run->lane->handle, &run->planned, &operands);
}

static Status
enqueue_packed(
    const Run *run, const DnnKeptPlan *kept, void *packed, void *workspace, cudnnStatus_t *ret_status)
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
enqueue(const Run *run, const DnnKeptPlan *kept, cudnnStatus_t *ret_status)
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
run_convolution(Run *run, DnnRefusal *ret_refusal, CudaEpilogue *ret_rest)
{
    Call *call = run->context->call;
    DnnKeptPlan *kept = NULL;
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
                                          : dnn_lane_fail(call, run->lane, status, "a convolution");
}

Status
dnn_convolve(KernelContext *context, DnnKind kind, CudaType type, const CudaConvolution *convolution,
    DnnRefusal *ret_refusal, CudaEpilogue *ret_rest)
{
    const CudaDnn *dnn = cuda_dnn();
    Run run = {.context = context, .convolution = convolution};
    DnnRefusal refusal =
        dnn == NULL ? DNN_NO_LIBRARY
                    : dnn_describe(kind, type, context->allows_tf32, convolution, &run.sums, &run.packing);
    if (refusal == DNN_ACCEPTED) {
        TRY(dnn_lane_find(context, dnn, &run.lane));
        TRY(run_convolution(&run, &refusal, ret_rest));
    }
    (void)atomic_fetch_add_relaxed(&refusals[refusal], 1);
    DeviceCounts *counts = &context->device->counts;
    atomic_add_relaxed(refusal == DNN_ACCEPTED ? &counts->library : &counts->plain, 1);
    *ret_refusal = refusal;
    return STATUS_OK;
}
