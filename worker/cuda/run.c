#include "worker/cuda/run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/buffer.h"
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
    ret_blame->width = 1;
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

/* What is said of a value that is refused, in the words of the host's kernels. What stands in braces is one
 * of the numbers of append_number(). */
typedef struct Refusal {
    Status code;
    const char *text;
} Refusal;

static const Refusal refusals[] = {
    [CUDA_REFUSES_INDEX] = {STATUS_INVALID_ARGUMENT, "index {value} at {element} is not within {limit}"},
    [CUDA_REFUSES_BOX] = {STATUS_OUT_OF_RANGE, "box {element} is of image {value}, not within {limit}"},
    [CUDA_REFUSES_OPERAND] = {STATUS_INVALID_ARGUMENT,
        "element {element} of the second input is {value}, which is not allowed for {dtype} integers"},
    [CUDA_REFUSES_LABEL] = {STATUS_INVALID_ARGUMENT,
        "label {value} at {element} is not within {limit} classes"},
    [CUDA_REFUSES_PLACE] = {STATUS_INVALID_ARGUMENT,
        "the label of place {element} is {value}, not within 0 to {last}"},
    [CUDA_REFUSES_LENGTH] = {STATUS_INVALID_ARGUMENT,
        "nonpad_kv_seqlen of batch {element} is {value}, not within 0 to {limit}"},
    [CUDA_REFUSES_POSITION] = {STATUS_INVALID_ARGUMENT,
        "position_ids has {value} as its value {element}, not within 0 to {last}"},
    [CUDA_REFUSES_MATRIX] = {STATUS_INVALID_ARGUMENT, "matrix {element} is not invertible"},
    [CUDA_REFUSES_SEGMENT] = {STATUS_INVALID_ARGUMENT,
        "segment id {value} at {element} is not within {limit} segments"},
    [CUDA_REFUSES_BIN] = {STATUS_INVALID_ARGUMENT, "element {element} is {value}, not at least 0"},
    [CUDA_REFUSES_ROW] = {STATUS_INVALID_ARGUMENT, "index {value} at {element} is below 0"},
    [CUDA_REFUSES_SLICE] = {STATUS_INVALID_ARGUMENT, "index {value} is not within {limit}"},
    [CUDA_REFUSES_PART] = {STATUS_INVALID_ARGUMENT, "partition {value} at {element} is not within {limit}"},
    [CUDA_REFUSES_TOKENS] = {STATUS_INVALID_ARGUMENT,
        "seqlens_k[{element}] is {value}: so many tokens do not fit behind those of the past, of which there "
        "are {limit}"},
    [CUDA_REFUSES_ANGLE] = {STATUS_INVALID_ARGUMENT,
        "position {value} is outside of cos_cache, which has {limit}"},
    [CUDA_REFUSES_BIAS] = {STATUS_INVALID_ARGUMENT, "attention_bias is for {limit} keys, not {value}"},
    [CUDA_REFUSES_GROUP] = {STATUS_INVALID_ARGUMENT, "g_idx[{element}] is {value}, not 0 to {last}"},
    [CUDA_REFUSES_PERMUTATION] = {STATUS_INVALID_ARGUMENT,
        "element {element} is {value}, which is no place of a permutation of {limit} or is there twice"},
    [CUDA_REFUSES_RANGE] = {STATUS_INVALID_ARGUMENT, "the range ends at {number}, not above {bound}"},
    [CUDA_REFUSES_LIMITS] = {STATUS_INVALID_ARGUMENT,
        "the lower limit {number} is not below the upper one, {bound}"},
    [CUDA_REFUSES_COORDINATE] = {STATUS_INVALID_ARGUMENT,
        "coordinate {place} of sparse element {line} is {value}, not within {limit}"},
    [CUDA_REFUSES_REGION] = {STATUS_INVALID_ARGUMENT, "index {value} at {line} is not within {limit}"},
    [CUDA_REFUSES_SIDE] = {STATUS_INVALID_ARGUMENT, "coordinate {side} of region {line} is {number}"},
};

static void
append_double(int64_t bits, Buffer *text)
{
    double number = 0;
    memcpy(&number, &bits, sizeof number);
    buffer_append_format(text, "%g", number);
}

static void
append_dtype(int64_t number, Buffer *text)
{
    buffer_append_string(text, dtype_name((Dtype)number));
}

static void
append_integer(int64_t number, Buffer *text)
{
    buffer_append_int64(text, number);
}

/* Appends the number that the slice names. */
static void
append_number(const CudaRefused *refused, Slice name, Buffer *text)
{
    assert(refused->width > 0);
    const struct {
        const char *name;
        void (*append)(int64_t number, Buffer *text);
        int64_t number;
    } numbers[] = {
        {"element", append_integer, refused->element},
        {"value", append_integer, refused->value},
        {"limit", append_integer, refused->limit},
        {"last", append_integer, refused->limit - 1},
        {"line", append_integer, refused->element / refused->width},
        {"place", append_integer, refused->element % refused->width},
        {"side", append_integer, refused->element % refused->width - 1},
        {"dtype", append_dtype, refused->limit},
        {"number", append_double, refused->value},
        {"bound", append_double, refused->limit},
    };
    size_t index = 0;
    while (!slice_equals_string(name, numbers[index].name)) {
        index++;
        assert(index < COUNT_OF(numbers));
    }
    numbers[index].append(numbers[index].number, text);
}

static Failure
describe_refused(const CudaRefused *refused)
{
    const Refusal *refusal = &refusals[refused->reason];
    AUTO_BUFFER text = {0};
    const char *at = refusal->text;
    for (const char *open = strchr(at, '{'); open != NULL; open = strchr(at, '{')) {
        const char *close = strchr(open, '}');
        buffer_append(&text, at, (size_t)(open - at));
        append_number(refused, slice_of(open + 1, (size_t)(close - open - 1)), &text);
        at = close + 1;
    }
    buffer_append_string(&text, at);
    const char *message = buffer_string(&text);
    return failure_of(refusal->code, slice_from_string(refused->node), "%s",
        message == NULL ? "a value is refused" : message);
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
