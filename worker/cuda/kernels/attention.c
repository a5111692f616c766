/* Attention as one op: two products, by cuBLASLt where it can, and one kernel between them that does all
 * steps and the softmax. The whole score matrix is in the card's memory once; the bits are those of the ops
 * that the node stands for. */
#include "worker/cuda/kernels/attention.h"

#include <assert.h>

#include "shared/ops/attention.h"
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

static Status
compute_attention(KernelContext *context)
{
    Attention attention;
    AttentionShapes shapes;
    Shape inputs[ATTENTION_INPUTS_MAX];
    Tensor *output = NULL;
    AUTO_TENSOR scores = {0};
    TRY(attention_read(context->call, context->node, &attention));
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = context->inputs[index].shape;
    }
    TRY(attention_shapes(context->call, &attention, inputs, &shapes));
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    TRY(compute_scores(context, &attention, &shapes, &scores));
    return multiply(context, &scores, &context->inputs[ATTENTION_VALUE], false, output);
}

static const Kernel attention_kernels[] = {
    {.op = "_FusedAttention", .supports = supports_floats, .compute = compute_attention},
};

KERNEL_FAMILY(cuda_kernels, attention, attention_kernels);
