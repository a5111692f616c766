/* Replaces batch normalisation with fixed statistics by a product and a sum for each channel, whose
 * factors a worker folds:
 *
 *     factor = scale / √(variance + ε)        y = x·factor + (offset - mean·factor)
 *
 * Behind a convolution, scale_folding removes the product, and convolution_epilogue the sum.
 *
 * Inexact: the mean is not subtracted first. */
#include <assert.h>

#include "gateway/optimise/linear.h"
#include "gateway/optimise/pass.h"

enum { NORM_X, NORM_SCALE, NORM_OFFSET, NORM_MEAN, NORM_VARIANCE, NORM_INPUTS };

typedef struct NormOp {
    const char *op;
    const char *training;
} NormOp;

static const NormOp norm_ops[] = {
    {"FusedBatchNorm", "is_training"},
    {"FusedBatchNormV2", "is_training"},
    {"FusedBatchNormV3", "is_training"},
    {"onnx::BatchNormalization", "training_mode"},
};

static const NormOp *
find_norm(const Rewrite *rewrite, uint32_t id)
{
    for (size_t index = 0; index < COUNT_OF(norm_ops); index++) {
        if (rewrite_is(rewrite, id, norm_ops[index].op)) {
            return &norm_ops[index];
        }
    }
    return NULL;
}

static bool
is_training(const Node *node, const NormOp *op)
{
    const AttrValue *value = node_attr(node, op->training);
    assert(value != NULL); /* the op declares it */
    return value->kind == ATTR_INT ? value->value.i != 0 : value->value.b;
}

/* All inputs must be float32, the statistics fixed, and no copy of them read. */
static bool
is_foldable(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id)
{
    const NormOp *op = find_norm(rewrite, id);
    bool is_fit = op != NULL && !is_training(rewrite_node(rewrite, id), op) && counts[id][0] > 0 &&
                  !rewrite_is_in_loop(rewrite, id) &&
                  rewrite_shape(rewrite, rewrite_input(rewrite, id, NORM_X))->rank >= 2;
    for (uint32_t input = NORM_X; is_fit && input < NORM_INPUTS; input++) {
        Endpoint endpoint = rewrite_input(rewrite, id, input);
        is_fit = rewrite_dtype(rewrite, endpoint) == DTYPE_FLOAT32 &&
                 (input == NORM_X || rewrite_is_fixed(rewrite, endpoint));
    }
    for (uint32_t port = 1; is_fit && port < rewrite_node(rewrite, id)->output_count; port++) {
        is_fit = counts[id][port] == 0;
    }
    return is_fit;
}

static const Attr float_attr = {
    .name = {.data = "T", .size = 1}, .value = {.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32}};

static Status
add_op(Rewrite *rewrite, uint32_t id, const char *op, Endpoint left, Endpoint right, Endpoint *ret_result)
{
    const Endpoint inputs[] = {left, right};
    RewriteOp becomes = {
        .op = op,
        .inputs = inputs,
        .input_count = right.node == NODE_NONE ? 1 : 2,
        .attrs = &float_attr,
        .attr_count = 1,
    };
    return rewrite_add(rewrite, id, "folded", &becomes, ret_result);
}

static Status
add_epsilon(Rewrite *rewrite, uint32_t id, Endpoint *ret_constant)
{
    AUTO_TENSOR value = {0};
    Shape scalar = shape_scalar();
    if (!tensor_new(DTYPE_FLOAT32, &scalar, &value)) {
        return rewrite_no_memory(rewrite);
    }
    *(float *)value.data = node_attr_float(rewrite_node(rewrite, id), "epsilon");
    return rewrite_add_constant(rewrite, id, "epsilon", &value, ret_constant);
}

/* Adds scale / √(variance + ε), and offset - mean · that. */
static Status
add_factors(Rewrite *rewrite, uint32_t id, Endpoint *ret_factor, Endpoint *ret_addend)
{
    Endpoint none = {.node = NODE_NONE};
    Endpoint value = none;
    TRY(add_epsilon(rewrite, id, &value));
    TRY(add_op(rewrite, id, "AddV2", rewrite_input(rewrite, id, NORM_VARIANCE), value, &value));
    TRY(add_op(rewrite, id, "Rsqrt", value, none, &value));
    TRY(add_op(rewrite, id, "Mul", rewrite_input(rewrite, id, NORM_SCALE), value, ret_factor));
    TRY(add_op(rewrite, id, "Mul", rewrite_input(rewrite, id, NORM_MEAN), *ret_factor, &value));
    return add_op(rewrite, id, "Sub", rewrite_input(rewrite, id, NORM_OFFSET), value, ret_addend);
}

/* Returns the shape in which one number a channel broadcasts to x. */
static Shape
channels_shape(const Rewrite *rewrite, uint32_t id, Endpoint vector)
{
    int rank = rewrite_shape(rewrite, rewrite_input(rewrite, id, NORM_X))->rank;
    bool is_onnx = rewrite_is(rewrite, id, "onnx::BatchNormalization");
    Shape shape = {.rank = rank - (is_onnx ? 1 : linear_channel_axis(rewrite, id))};
    assert(shape.rank > 0); /* is_foldable() has seen two dimensions */
    for (int dimension = 1; dimension < shape.rank; dimension++) {
        shape.dims[dimension] = 1;
    }
    shape.dims[0] = rewrite_shape(rewrite, vector)->dims[0];
    return shape;
}

static Status
fold_norm(Rewrite *rewrite, uint32_t id)
{
    Endpoint factor = {.node = NODE_NONE};
    Endpoint addend = {.node = NODE_NONE};
    TRY(add_factors(rewrite, id, &factor, &addend));
    Shape shape = channels_shape(rewrite, id, factor);
    TRY(linear_reshape(rewrite, id, factor, &shape, &factor));
    TRY(linear_reshape(rewrite, id, addend, &shape, &addend));
    TRY(add_op(rewrite, id, "Mul", rewrite_input(rewrite, id, NORM_X), factor, &factor));
    const Endpoint inputs[] = {factor, addend};
    RewriteOp sum = {
        .op = "AddV2", .inputs = inputs, .input_count = 2, .attrs = &float_attr, .attr_count = 1};
    return rewrite_replace(rewrite, id, &sum);
}

static Status
batch_norm_folding(Rewrite *rewrite)
{
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        if (is_foldable(rewrite, counts, id)) {
            TRY(fold_norm(rewrite, id));
        }
    }
    return STATUS_OK;
}

PASS(batch_norm_folding, PASS_SIMPLIFY, false);
