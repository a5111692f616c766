#include "worker/cuda/run.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "worker/cuda/captured.h"
#include "worker/cuda/errors.h"

_Static_assert(offsetof(CudaRun, lane) == 0, "cuda_lane() finds the lane");
_Static_assert((int)CUDA_BLAME_NODE_SIZE == (int)ERROR_NODE_SIZE, "a failure has room for the node");

void
cuda_runs_init(CudaRuns *runs, CudaLane *lane)
{
    *runs = (CudaRuns){.lane = lane};
    mutex_init(&runs->lock);
}

static void
free_run(CudaRun *run)
{
    tensor_buffer_unref(run->found);
    memory_free(run);
}

void
cuda_runs_done(CudaRuns *runs)
{
    if (runs->lane == NULL) {
        return;
    }
    while (runs->closed != NULL) {
        CudaRun *run = runs->closed;
        runs->closed = run->next;
        free_run(run);
    }
    mutex_done(&runs->lock);
}

static CudaRun *
new_run(void)
{
    CudaRun *made = memory_new(1, sizeof *made);
    TensorBuffer *found = made == NULL ? NULL : tensor_buffer_new(sizeof(CudaRefused));
    if (found == NULL) {
        memory_free(made);
        return NULL;
    }
    made->found = found;
    return made;
}

DeviceLane *
cuda_run_open(CudaRuns *runs)
{
    mutex_lock(&runs->lock);
    CudaRun *run = runs->closed;
    runs->closed = run == NULL ? NULL : run->next;
    mutex_unlock(&runs->lock);
    if (run == NULL) {
        run = new_run();
    }
    if (run == NULL) {
        return NULL;
    }
    *run = (CudaRun){.lane = runs->lane, .found = run->found};
    return (DeviceLane *)(void *)run;
}

void
cuda_run_close(CudaRuns *runs, DeviceLane *lane)
{
    CudaRun *run = cuda_run(lane);
    tensor_buffer_unref(TAKE(run->record));
    mutex_lock(&runs->lock);
    run->next = runs->closed;
    runs->closed = run;
    mutex_unlock(&runs->lock);
}

Status
cuda_run_record(Call *call, Device *device, CudaRun *run)
{
    assert(cuda_lane_is_mine(run->lane));
    if (run->record != NULL) {
        return STATUS_OK;
    }
    TensorBuffer *record = device->allocate(device, sizeof(CudaRefused));
    if (record == NULL) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "no memory of the %s is left for the first wrong value", device->type);
    }
    int error = (int)cudaMemsetAsync(record->data, 0, sizeof(CudaRefused), cuda_lane_stream(run->lane));
    if (error != cudaSuccess) {
        tensor_buffer_unref(record);
        return cuda_check(call, error, "clearing the record of the first wrong value");
    }
    atomic_store_release(&run->record, record);
    return STATUS_OK;
}

void
cuda_run_blames(CudaRun *run)
{
    atomic_store_relaxed(&run->blamed, atomic_load_relaxed(&run->lane->position));
}

/* Finds the record for kernels that are about to be enqueued, and their turn: of the run, or of the part that
 * is being captured. */
static Status
choose_record(const KernelContext *context, CudaRun *run, CudaBlame *ret_blame)
{
    CudaLane *lane = run->lane;
    if (lane->captured != NULL) {
        ret_blame->refused = cuda_graph_blames(lane->captured, &ret_blame->turn);
        return STATUS_OK;
    }
    TRY(cuda_run_record(context->call, context->device, run));
    cuda_run_blames(run);
    ret_blame->refused = run->record->data;
    ret_blame->turn = atomic_load_relaxed(&lane->position);
    return STATUS_OK;
}

Status
cuda_blame(const KernelContext *context, CudaRefusal reason, CudaBlame *ret_blame)
{
    TRY(choose_record(context, cuda_run(context->lane), ret_blame));
    ret_blame->reason = reason;
    (void)snprintf(ret_blame->node, sizeof ret_blame->node, "%.*s", SLICE_PRINT(context->node->name));
    return STATUS_OK;
}

const CudaRefused *
cuda_refused(const KernelContext *context)
{
    const CudaRun *run = cuda_run(context->lane);
    assert(cuda_lane_is_mine(run->lane) && run->lane->captured == NULL);
    return run->record == NULL ? NULL : run->record->data;
}

/* Says as the kernels of the host do what is wrong with an input of ONNX Runtime's own ops. */
static Failure
describe_contributed(const CudaRefused *refused)
{
    Slice node = slice_from_string(refused->node);
    long long element = refused->element;
    long long value = refused->value;
    if (refused->reason == CUDA_REFUSES_TOKENS) {
        return failure_of(STATUS_INVALID_ARGUMENT, node,
            "seqlens_k[%lld] is %lld: so many tokens do not fit behind those of the past, of which there are "
            "%lld",
            element, value, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_ANGLE) {
        return failure_of(STATUS_INVALID_ARGUMENT, node,
            "position %lld is outside of cos_cache, which has %lld", value, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_BIAS) {
        return failure_of(STATUS_INVALID_ARGUMENT, node, "attention_bias is for %lld keys, not %lld",
            (long long)refused->limit, value);
    }
    return failure_of(STATUS_INVALID_ARGUMENT, node, "g_idx[%lld] is %lld, not 0 to %lld", element, value,
        (long long)refused->limit - 1);
}

/* Says as the kernels of the host do what is wrong. */
static Failure
describe_refused(const CudaRefused *refused)
{
    Slice node = slice_from_string(refused->node);
    long long element = refused->element;
    long long value = refused->value;
    if (refused->reason == CUDA_REFUSES_INDEX) {
        return failure_of(STATUS_INVALID_ARGUMENT, node, "index %lld at %lld is not within %lld", value,
            element, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_BOX) {
        return failure_of(STATUS_OUT_OF_RANGE, node, "box %lld is of image %lld, not within %lld", element,
            value, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_LABEL) {
        return failure_of(STATUS_INVALID_ARGUMENT, node, "label %lld at %lld is not within %lld classes",
            value, element, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_PLACE) {
        return failure_of(STATUS_INVALID_ARGUMENT, node,
            "the label of place %lld is %lld, not within 0 to %lld", element, value,
            (long long)refused->limit - 1);
    }
    if (refused->reason == CUDA_REFUSES_LENGTH) {
        return failure_of(STATUS_INVALID_ARGUMENT, node,
            "nonpad_kv_seqlen of batch %lld is %lld, not within 0 to %lld", element, value,
            (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_POSITION) {
        return failure_of(STATUS_INVALID_ARGUMENT, node,
            "position_ids has %lld as its value %lld, not within 0 to %lld", value, element,
            (long long)refused->limit - 1);
    }
    if (refused->reason == CUDA_REFUSES_MATRIX) {
        return failure_of(STATUS_INVALID_ARGUMENT, node, "matrix %lld is not invertible", element);
    }
    if (refused->reason == CUDA_REFUSES_SEGMENT) {
        return failure_of(STATUS_INVALID_ARGUMENT, node,
            "segment id %lld at %lld is not within %lld segments", value, element, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_BIN) {
        return failure_of(
            STATUS_INVALID_ARGUMENT, node, "element %lld is %lld, not at least 0", element, value);
    }
    if (refused->reason == CUDA_REFUSES_ROW) {
        return failure_of(STATUS_INVALID_ARGUMENT, node, "index %lld at %lld is below 0", value, element);
    }
    if (refused->reason == CUDA_REFUSES_SLICE) {
        return failure_of(
            STATUS_INVALID_ARGUMENT, node, "index %lld is not within %lld", value, (long long)refused->limit);
    }
    if (refused->reason == CUDA_REFUSES_PART) {
        return failure_of(STATUS_INVALID_ARGUMENT, node, "partition %lld at %lld is not within %lld", value,
            element, (long long)refused->limit);
    }
    if (refused->reason >= CUDA_REFUSES_GROUP) {
        return describe_contributed(refused);
    }
    return failure_of(STATUS_INVALID_ARGUMENT, node,
        "element %lld of the second input is %lld, which is not allowed for %s integers", element, value,
        dtype_name((Dtype)refused->limit));
}

bool
cuda_run_has_refused(const CudaRefused *refused, uint64_t position, Failure *ret_failure)
{
    if (refused->turn == 0 || refused->turn > position) {
        return false;
    }
    *ret_failure = describe_refused(refused);
    return true;
}

bool
cuda_run_owes(CudaRun *run)
{
    return atomic_load_relaxed(&run->blamed) > atomic_load_relaxed(&run->told);
}
