/* Attention as one op: in 16 bits by cuDNN where it can, which rounds nothing between the steps. Else two
 * products, by cuBLASLt where it can, and one kernel between them that does all steps and the softmax: the
 * whole score matrix is in the card's memory once, and the bits are those of the ops that the node stands
 * for. */
#include "worker/cuda/kernels/attention.h"

#include <assert.h>

#include "shared/ops/attention.h"
#include "worker/cuda/dnn/attention.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/product.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

_Static_assert(
    (int)CUDA_SCORES_ADD == ATTENTION_ADD && (int)CUDA_SCORES_DIVIDE == ATTENTION_DIVIDE &&
        (int)CUDA_SCORES_MULTIPLY == ATTENTION_MULTIPLY && (int)CUDA_SCORES_SUBTRACT == ATTENTION_SUBTRACT &&
        (int)CUDA_SCORES_KEEP == ATTENTION_KEEP && (int)CUDA_SCORES_REPLACE == ATTENTION_REPLACE &&
        (int)CUDA_SCORES_STEPS_MAX == ATTENTION_STEPS_MAX && (int)CUDA_SCORES_RANK_MAX >= SHAPE_RANK_MAX,
    "both sides count the steps alike, and lines have room for every rank");

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* Enters a source whose shape broadcasts to that of the scores. */
static void
add_source(const Tensor *source, const Shape *shape, int index, CudaScores *scores)
{
    int64_t size = 1;
    scores->sources[index] = source->data;
    for (int dimension = shape->rank - 1; dimension >= 0; dimension--) {
        int own = dimension - (shape->rank - source->shape.rank);
        int64_t own_size = own < 0 ? 1 : source->shape.dims[own];
        int64_t stride = own_size == 1 ? 0 : size;
        size *= own_size;
        if (dimension == shape->rank - 1) {
            scores->column_strides[index] = stride;
        } else {
            scores->strides[index][dimension] = stride;
        }
    }
}

static CudaScores
plan_scores(const KernelContext *context, const Attention *attention, const Tensor *product, Tensor *output)
{
    const Shape *shape = &output->shape;
    CudaScores scores = {
        .output = output->data,
        .columns = shape->dims[shape->rank - 1],
        .lines = 1,
        .rank = shape->rank - 1,
        .step_count = attention->step_count,
    };
    assert(scores.rank <= CUDA_SCORES_RANK_MAX);
    for (int dimension = 0; dimension < scores.rank; dimension++) {
        scores.sizes[dimension] = shape->dims[dimension];
        scores.lines *= shape->dims[dimension];
    }
    add_source(product, shape, 0, &scores);
    for (int step = 0; step < attention->step_count; step++) {
        scores.steps[step] = (CudaScoresStep)attention->steps[step];
        add_source(&context->inputs[ATTENTION_FIRST_OPERAND + step], shape, step + 1, &scores);
        if (attention->masks[step] != 0) {
            add_source(
                &context->inputs[attention->masks[step]], shape, step + 1 + CUDA_SCORES_STEPS_MAX, &scores);
        }
    }
    return scores;
}

static Status
multiply(KernelContext *context, const Tensor *a, const Tensor *b, bool transposes_b, Tensor *output)
{
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    CudaProduct product = operands_product(a, false, b, transposes_b);
    product.output = output->data;
    return matmul_enqueue(context, cuda_type(output->dtype), &product);
}

/* Products that the steps do not broaden become the scores where they are. */
static Status
compute_scores(
    KernelContext *context, const Attention *attention, const AttentionShapes *shapes, Tensor *scores)
{
    const Tensor *query = &context->inputs[ATTENTION_QUERY];
    const Tensor *key = &context->inputs[ATTENTION_KEY];
    AUTO_TENSOR product = {0};
    bool is_broadened = !shape_equal(&shapes->product, &shapes->scores);
    TRY(scratch_new(context, query->dtype, &shapes->scores, scores));
    if (is_broadened) {
        TRY(scratch_new(context, query->dtype, &shapes->product, &product));
    }
    Tensor *made = is_broadened ? &product : scores;
    TRY(multiply(context, query, key, attention->transposes_key, made));
    CudaScores plan = plan_scores(context, attention, made, scores);
    int error = cuda_scores(cuda_type(query->dtype), &plan, cuda_stream(context));
    return cuda_check(context->call, error, "the scores of attention");
}

/* Returns the product of the dimensions in front of heads and matrices. */
static int64_t
count_batches(const Shape *shape)
{
    int64_t count = 1;
    for (int dimension = 0; dimension < shape->rank - 3; dimension++) {
        count *= shape->dims[dimension];
    }
    return count;
}

static DnnHeads
read_heads(const Tensor *tensor)
{
    const Shape *shape = &tensor->shape;
    int64_t size = shape->dims[shape->rank - 1];
    int64_t matrix = size * shape->dims[shape->rank - 2];
    int64_t heads = shape->rank > 2 ? shape->dims[shape->rank - 3] : 1;
    return (DnnHeads){.data = tensor->data,
        .heads = heads,
        .size = size,
        .batch_step = heads * matrix,
        .head_step = matrix,
        .position_step = size};
}

/* Returns whether both count their matrices alike. */
static bool
are_batches_equal(const Shape *a, const Shape *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)(a->rank - 2) * sizeof *a->dims) == 0;
}

/* Reads what is added to scores of this shape. False: it is not broadcast in all batches alike. */
static bool
read_sum(const Tensor *operand, const Shape *scores, DnnAttention *ret_attention)
{
    bool is_shared = true;
    bool is_whole = true;
    int64_t *sizes = ret_attention->addend_sizes;
    for (int dimension = 0; dimension < DNN_SCORES_RANK; dimension++) {
        sizes[dimension] = 1;
    }
    for (int dimension = 0; dimension < operand->shape.rank; dimension++) {
        int at = scores->rank - operand->shape.rank + dimension;
        int64_t size = operand->shape.dims[dimension];
        if (at >= scores->rank - 3) {
            sizes[DNN_SCORES_RANK - scores->rank + at] = size;
        } else {
            is_shared = is_shared && size == 1;
        }
    }
    for (int at = 0; at < scores->rank - 3; at++) {
        int dimension = at - (scores->rank - operand->shape.rank);
        is_whole = is_whole && dimension >= 0 && operand->shape.dims[dimension] == scores->dims[at];
    }
    sizes[0] = is_shared ? 1 : count_batches(scores);
    ret_attention->addend = operand->data;
    return is_shared || is_whole;
}

/* Reads the steps in the form that the library takes: a scale, then a sum. */
static bool
read_steps(
    const KernelContext *context, const Attention *steps, const Shape *scores, DnnAttention *ret_attention)
{
    int next = 0;
    const Tensor *operands = &context->inputs[ATTENTION_FIRST_OPERAND];
    AttentionStep first = steps->step_count > 0 ? steps->steps[0] : ATTENTION_ADD;
    if ((first == ATTENTION_MULTIPLY || first == ATTENTION_DIVIDE) && tensor_element_count(operands) == 1) {
        ret_attention->scale = operands[next++].data;
        ret_attention->is_divisor = first == ATTENTION_DIVIDE;
    }
    if (next < steps->step_count && steps->steps[next] == ATTENTION_ADD) {
        if (!read_sum(&operands[next++], scores, ret_attention)) {
            return false;
        }
    }
    return next == steps->step_count;
}

/* Attends by the library, if it computes this form of attention. */
static Status
try_library(KernelContext *context, const Attention *steps, const AttentionShapes *shapes,
    const Tensor *output, bool *ret_is_done)
{
    const Tensor *query = &context->inputs[ATTENTION_QUERY];
    const Tensor *key = &context->inputs[ATTENTION_KEY];
    const Tensor *value = &context->inputs[ATTENTION_VALUE];
    const Shape *shape = &shapes->scores;
    DnnRefusal refusal = DNN_NO_LAYOUT;
    bool is_known = steps->transposes_key && tensor_element_count(key) > 0 &&
                    shape_equal(&shapes->product, shape) && are_batches_equal(&query->shape, shape) &&
                    are_batches_equal(&key->shape, shape) && are_batches_equal(&value->shape, shape);
    *ret_is_done = false;
    if (!is_known) {
        return STATUS_OK;
    }
    DnnAttention attention = {.batch = count_batches(shape),
        .queries = shape->dims[shape->rank - 2],
        .keys = shape->dims[shape->rank - 1],
        .query = read_heads(query),
        .key = read_heads(key),
        .value = read_heads(value),
        .output = read_heads(output),
        .factor = 1};
    if (!read_steps(context, steps, shape, &attention)) {
        return STATUS_OK;
    }
    TRY(dnn_attend(context, cuda_type(output->dtype), &attention, &refusal));
    *ret_is_done = refusal == DNN_ACCEPTED;
    return STATUS_OK;
}

static Status
compute_attention(KernelContext *context)
{
    Attention attention;
    AttentionShapes shapes;
    Shape inputs[ATTENTION_INPUTS_MAX];
    Tensor *output = NULL;
    AUTO_TENSOR scores = {0};
    bool is_done = false;
    TRY(attention_read(context->call, context->node, &attention));
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = context->inputs[index].shape;
    }
    TRY(attention_shapes(context->call, &attention, inputs, &shapes));
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    TRY(try_library(context, &attention, &shapes, output, &is_done));
    if (is_done) {
        return STATUS_OK;
    }
    TRY(compute_scores(context, &attention, &shapes, &scores));
    return multiply(context, &scores, &context->inputs[ATTENTION_VALUE], false, output);
}

static const Kernel attention_kernels[] = {
    {.op = "_FusedAttention", .supports = supports_floats, .compute = compute_attention},
};

KERNEL_FAMILY(cuda_kernels, attention, attention_kernels);
