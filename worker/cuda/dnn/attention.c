/* Happy path: the attention is described → its plan is found, or made → its scale is brought to the card as a
 * float32 → the plan is enqueued. */
#include "worker/cuda/dnn/attention.h"

#include <assert.h>
#include <float.h>

#include "shared/base/atomic.h"
#include "worker/cuda/dnn/attention_graph.h"
#include "worker/cuda/dnn/lane.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/generate.h"
#include "worker/runtime/device_memory.h"

enum { BATCH, HEAD, ROW, COLUMN };
enum { ALIGNMENT_MAX = 16 };                   /* of the widest load of a thread */
enum { SCALE, NUMERATOR, STATISTICS_AT = 64 }; /* floats of the scratch memory; the third is aligned */

static uint64_t refusals[DNN_REFUSALS]; /* atomic */

uint64_t
dnn_attention_refusals(DnnRefusal refusal)
{
    return atomic_load_relaxed(&refusals[refusal]);
}

/* Returns the largest power of two that divides the address. */
static int64_t
alignment_of(const void *address)
{
    uintptr_t bits = (uintptr_t)address | ALIGNMENT_MAX;
    return (int64_t)(bits & (~bits + 1));
}

static DnnTensor
describe_heads(const DnnAttention *attention, const DnnHeads *heads, int64_t positions)
{
    return (DnnTensor){.sizes = {attention->batch, heads->heads, positions, heads->size},
        .steps = {heads->batch_step, heads->head_step, heads->position_step, 1},
        .alignment = alignment_of(heads->data)};
}

static DnnTensor
transpose(const DnnTensor *tensor)
{
    DnnTensor turned = *tensor;
    turned.sizes[ROW] = tensor->sizes[COLUMN];
    turned.sizes[COLUMN] = tensor->sizes[ROW];
    turned.steps[ROW] = tensor->steps[COLUMN];
    turned.steps[COLUMN] = tensor->steps[ROW];
    return turned;
}

static DnnTensor
describe_dense(const int64_t *sizes, int64_t alignment)
{
    DnnTensor tensor = {.alignment = alignment};
    int64_t step = 1;
    for (int dimension = COLUMN; dimension >= BATCH; dimension--) {
        tensor.sizes[dimension] = sizes[dimension];
        tensor.steps[dimension] = step;
        step *= sizes[dimension];
    }
    return tensor;
}

static bool
is_small(const DnnTensor *tensor)
{
    int64_t count = 1;
    for (int dimension = BATCH; dimension <= COLUMN; dimension++) {
        if (tensor->sizes[dimension] < 1 || tensor->sizes[dimension] > INT32_MAX / count) {
            return false;
        }
        count *= tensor->sizes[dimension];
    }
    return true;
}

static DnnRefusal
describe(CudaType type, const DnnAttention *attention, DnnAttentionDescription *ret_description)
{
    int64_t scores[DNN_SCORES_RANK] = {
        attention->batch, attention->query.heads, attention->queries, attention->keys};
    DnnTensor key = describe_heads(attention, &attention->key, attention->keys);
    DnnAttentionDescription description = {.type = (int64_t)type,
        .is_causal = attention->is_causal,
        .query = describe_heads(attention, &attention->query, attention->queries),
        .key = transpose(&key),
        .value = describe_heads(attention, &attention->value, attention->keys),
        .output = describe_heads(attention, &attention->output, attention->queries),
        .scores = describe_dense(scores, ALIGNMENT_MAX)};
    if (type != CUDA_FLOAT16 && type != CUDA_BFLOAT16) {
        return DNN_NO_TYPE;
    }
    if (!is_small(&description.query) || !is_small(&key) || !is_small(&description.value) ||
        !is_small(&description.output)) {
        return DNN_NO_SIZE;
    }
    if (attention->addend != NULL) {
        description.addend = describe_dense(attention->addend_sizes, alignment_of(attention->addend));
    }
    *ret_description = description;
    return DNN_ACCEPTED;
}

/* One attention on its way through the library. */
typedef struct Run {
    KernelContext *context;
    DnnLane *lane;
    CudaType type;
    const DnnAttention *attention;
    float *scratch; /* of the card */
} Run;

/* Brings the scale to the card, or from its type to float32. */
static int
write_scale(const Run *run)
{
    const DnnAttention *attention = run->attention;
    float *scale = run->scratch + SCALE;
    float *numerator = run->scratch + NUMERATOR;
    cudaStream_t stream = cuda_stream(run->context);
    float none = 0;
    if (attention->scale == NULL) {
        return cuda_range(CUDA_FLOAT32, &attention->factor, &none, scale, 1, stream);
    }
    int error = cuda_range(CUDA_FLOAT32, &attention->factor, &none, numerator, 1, stream);
    if (error == cudaSuccess) {
        error = cuda_convert(run->type, attention->scale, CUDA_FLOAT32, scale, 1, stream);
    }
    CudaMap map = {.inputs = {numerator, scale},
        .output = scale,
        .count = 1,
        .rank = 1,
        .sizes = {1},
        .strides = {{1}, {1}}};
    CudaMapFunction function = attention->is_divisor ? CUDA_MAP_DIVIDE : CUDA_MAP_MULTIPLY;
    return error == cudaSuccess ? cuda_map(function, CUDA_FLOAT32, &map, stream) : error;
}

static cudnnStatus_t
run_plan(const Run *run, const DnnPlan *plan, void *workspace)
{
    static const float lowest = -FLT_MAX;
    const DnnAttention *attention = run->attention;
    DnnBinding bindings[DNN_BINDINGS_MAX] = {
        {DNN_ATTENTION_QUERY, attention->query.data},
        {DNN_ATTENTION_KEY, attention->key.data},
        {DNN_ATTENTION_VALUE, attention->value.data},
        {DNN_ATTENTION_OUTPUT, attention->output.data},
        {DNN_ATTENTION_SCALE, run->scratch + SCALE},
        {DNN_ATTENTION_STATISTICS, run->scratch + STATISTICS_AT},
    };
    int64_t count = 6;
    if (attention->addend != NULL) {
        bindings[count++] = (DnnBinding){DNN_ATTENTION_ADDEND, attention->addend};
    }
    if (attention->is_causal) {
        bindings[count++] = (DnnBinding){DNN_ATTENTION_LOWEST, &lowest};
    }
    return dnn_plan_execute(plan, run->lane->handle, bindings, count, workspace);
}

/* Enqueues the plan; `ret_status` is what the library says of it. The scratch memory may be given back as
 * soon as all is enqueued: whoever gets it next writes to it behind that. */
static Status
enqueue(Run *run, const DnnPlan *plan, cudnnStatus_t *ret_status)
{
    KernelContext *context = run->context;
    const DnnAttention *attention = run->attention;
    int64_t rows = attention->batch * attention->query.heads * attention->queries;
    void *workspace = NULL;
    TRY(cuda_lane_workspace(context->call, cuda_lane(context->lane), &workspace));
    TensorBuffer *scratch =
        device_allocate(context->device, ((size_t)rows + STATISTICS_AT) * sizeof(float), context->account);
    if (scratch == NULL) {
        return call_fail_memory(context->call, "attention's scale and statistics");
    }
    run->scratch = scratch->data;
    Status status = cuda_check(context->call, write_scale(run), "the scale of attention");
    if (status == STATUS_OK) {
        *ret_status = run_plan(run, plan, workspace);
    }
    tensor_buffer_unref(scratch);
    return status;
}

static Status
run_attention(Run *run, const DnnAttentionDescription *description, DnnRefusal *ret_refusal)
{
    Call *call = run->context->call;
    DnnKeptPlan *kept = NULL;
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    DnnRequest request = dnn_attention_request(description);
    if (run->lane->handle == NULL) {
        *ret_refusal = DNN_NO_HANDLE;
        return STATUS_OK;
    }
    TRY(dnn_lane_plan(call, run->lane, &request, &kept));
    assert(kept != NULL);
    if (!kept->is_refused) {
        TRY(enqueue(run, &kept->plan, &status));
    }
    if (dnn_refuses(status)) {
        kept->is_refused = true;
        *ret_refusal = DNN_NO_ENGINE;
        (void)cudaGetLastError(); /* the next launch is not to blame for a refusal */
        return STATUS_OK;
    }
    return status == CUDNN_STATUS_SUCCESS ? cuda_check(call, (int)cudaGetLastError(), "attention")
                                          : dnn_lane_fail(call, run->lane, status, "attention");
}

Status
dnn_attend(KernelContext *context, CudaType type, const DnnAttention *attention, DnnRefusal *ret_refusal)
{
    const CudaDnn *dnn = cuda_dnn();
    DnnAttentionDescription description;
    Run run = {.context = context, .type = type, .attention = attention};
    DnnRefusal refusal = dnn == NULL ? DNN_NO_LIBRARY : describe(type, attention, &description);
    if (refusal == DNN_ACCEPTED) {
        TRY(dnn_lane_find(context, dnn, &run.lane));
        TRY(run_attention(&run, &description, &refusal));
    }
    (void)atomic_fetch_add_relaxed(&refusals[refusal], 1);
    if (refusal == DNN_ACCEPTED) {
        atomic_add_relaxed(&context->device->counts.library, 1);
    }
    *ret_refusal = refusal;
    return STATUS_OK;
}
