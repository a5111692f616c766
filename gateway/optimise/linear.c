#include "gateway/optimise/linear.h"

#include <assert.h>

static bool
has_flag(const Node *node, const char *name)
{
    const AttrValue *value = node_attr(node, name);
    return value != NULL && (value->kind == ATTR_INT ? value->value.i != 0 : value->value.b);
}

static Shape
last_dimension(const Rewrite *rewrite, uint32_t id, int64_t channels)
{
    (void)rewrite;
    (void)id;
    return shape_vector(channels);
}

/* Filters are [height, width, C, M]: the output has the M channels of the first input channel, then those
 * of the second, … */
static Shape
last_two_dimensions(const Rewrite *rewrite, uint32_t id, int64_t channels)
{
    const Shape *weights = rewrite_shape(rewrite, rewrite_input(rewrite, id, LINEAR_WEIGHTS));
    int64_t multiplier = weights->rank == 4 && weights->dims[3] > 0 ? weights->dims[3] : 1;
    return (Shape){.rank = 2, .dims = {channels / multiplier, multiplier}};
}

/* ONNX's filters have the output channels first. */
static Shape
first_dimension(const Rewrite *rewrite, uint32_t id, int64_t channels)
{
    Shape shape = {.rank = rewrite_shape(rewrite, (Endpoint){.node = id})->rank, .dims = {channels}};
    for (int dimension = 1; dimension < shape.rank; dimension++) {
        shape.dims[dimension] = 1;
    }
    return shape;
}

static Shape
weight_columns(const Rewrite *rewrite, uint32_t id, int64_t channels)
{
    const Node *node = rewrite_node(rewrite, id);
    bool is_transposed = has_flag(node, "transpose_b") || has_flag(node, "adj_y") || has_flag(node, "transB");
    return is_transposed ? (Shape){.rank = 2, .dims = {channels, 1}} : shape_vector(channels);
}

static const char fused_batch_matmul[] = "_FusedBatchMatMulV2";
static const char fused_conv2d[] = "_FusedConv2D";
static const char fused_depthwise[] = "_FusedDepthwiseConv2dNative";
static const char fused_matmul[] = "_FusedMatMul";
static const char fused_onnx_conv[] = "_FusedOnnxConv";

static const LinearOp linear_ops[] = {
    {"BatchMatMul", fused_batch_matmul, LINEAR_PRODUCT, false, weight_columns},
    {"BatchMatMulV2", fused_batch_matmul, LINEAR_PRODUCT, false, weight_columns},
    {"Conv2D", fused_conv2d, LINEAR_CONVOLUTION, false, last_dimension},
    {"DepthwiseConv2dNative", fused_depthwise, LINEAR_CONVOLUTION, false, last_two_dimensions},
    {"MatMul", fused_matmul, LINEAR_PRODUCT, false, weight_columns},
    {"onnx::Conv", fused_onnx_conv, LINEAR_CONVOLUTION, true, first_dimension},
    {"onnx::Gemm", fused_matmul, LINEAR_PRODUCT, true, weight_columns},
    {"onnx::MatMul", fused_batch_matmul, LINEAR_PRODUCT, false, weight_columns},
    {fused_batch_matmul, fused_batch_matmul, LINEAR_PRODUCT, false, weight_columns},
    {fused_conv2d, fused_conv2d, LINEAR_CONVOLUTION, false, last_dimension},
    {fused_depthwise, fused_depthwise, LINEAR_CONVOLUTION, false, last_two_dimensions},
    {fused_matmul, fused_matmul, LINEAR_PRODUCT, false, weight_columns},
    {fused_onnx_conv, fused_onnx_conv, LINEAR_CONVOLUTION, false, first_dimension},
};

/* ONNX multiplies vectors too; their results have no columns. */
static bool
has_matrices(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_shape(rewrite, rewrite_input(rewrite, id, 0))->rank >= 2 &&
           rewrite_shape(rewrite, rewrite_input(rewrite, id, LINEAR_WEIGHTS))->rank >= 2;
}

const LinearOp *
linear_find(const Rewrite *rewrite, uint32_t id)
{
    for (size_t index = 0; index < COUNT_OF(linear_ops); index++) {
        if (rewrite_is(rewrite, id, linear_ops[index].op)) {
            Endpoint output = {.node = id};
            bool is_known = rewrite_dtype(rewrite, output) == DTYPE_FLOAT32 &&
                            rewrite_shape(rewrite, output)->rank >= 2 && has_matrices(rewrite, id) &&
                            linear_channels(rewrite, id) > 0;
            return is_known ? &linear_ops[index] : NULL;
        }
    }
    return NULL;
}

int
linear_channel_axis(const Rewrite *rewrite, uint32_t id)
{
    const Node *node = rewrite_node(rewrite, id);
    bool is_onnx = rewrite_is(rewrite, id, "onnx::Conv") || rewrite_is(rewrite, id, fused_onnx_conv);
    bool is_first = node_attr(node, "data_format") != NULL &&
                    slice_starts_with(node_attr_string(node, "data_format"), SLICE("NC"));
    return is_onnx || is_first ? 1 : rewrite_shape(rewrite, (Endpoint){.node = id})->rank - 1;
}

int64_t
linear_channels(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_shape(rewrite, (Endpoint){.node = id})->dims[linear_channel_axis(rewrite, id)];
}

bool
linear_fits_channels(const Rewrite *rewrite, uint32_t id, const Shape *shape)
{
    int rank = rewrite_shape(rewrite, (Endpoint){.node = id})->rank;
    int axis = linear_channel_axis(rewrite, id) - (rank - shape->rank);
    bool fits = shape->rank <= rank && axis >= 0;
    for (int dimension = 0; fits && dimension < shape->rank; dimension++) {
        fits = shape->dims[dimension] == (dimension == axis ? linear_channels(rewrite, id) : 1);
    }
    return fits;
}

/* A BiasAdd must add along the same dimension, whatever its own data_format says. */
bool
linear_is_bias(const Rewrite *rewrite, uint32_t id, uint32_t sum, uint32_t index)
{
    assert(id != NODE_NONE && sum != NODE_NONE);
    static const char *const sums[] = {"Add", "AddV2", "onnx::Add"};
    Endpoint bias = rewrite_input(rewrite, sum, index);
    if (rewrite_is(rewrite, sum, "BiasAdd")) {
        return index == 1 && linear_channel_axis(rewrite, sum) == linear_channel_axis(rewrite, id);
    }
    return rewrite_is_any_of(rewrite, sum, sums, COUNT_OF(sums)) && rewrite_is_fixed(rewrite, bias) &&
           linear_fits_channels(rewrite, id, rewrite_shape(rewrite, bias));
}

static Status
shape_constant(
    Rewrite *rewrite, uint32_t beside, const Shape *shape, const char *role, Endpoint *ret_constant)
{
    AUTO_TENSOR value = {0};
    Shape vector = shape_vector(shape->rank);
    if (!tensor_new(DTYPE_INT64, &vector, &value)) {
        return rewrite_no_memory(rewrite);
    }
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        ((int64_t *)value.data)[dimension] = shape->dims[dimension];
    }
    return rewrite_add_constant(rewrite, beside, role, &value, ret_constant);
}

Status
linear_reshape(Rewrite *rewrite, uint32_t beside, Endpoint value, const Shape *shape, Endpoint *ret_reshaped)
{
    if (shape_equal(rewrite_shape(rewrite, value), shape)) {
        *ret_reshaped = value;
        return STATUS_OK;
    }
    const Attr attrs[] = {
        {.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = rewrite_dtype(rewrite, value)}},
        {.name = SLICE("Tshape"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_INT64}},
    };
    Endpoint inputs[] = {value, value};
    TRY(shape_constant(rewrite, beside, shape, "shape", &inputs[1]));
    RewriteOp op = {.op = "Reshape", .inputs = inputs, .input_count = 2, .attrs = attrs, .attr_count = 2};
    return rewrite_add(rewrite, beside, "channels", &op, ret_reshaped);
}
