/* Lets the products and convolutions of a quantised model work on its integers. Such a model, as ONNX
 * Runtime's quantize_static writes it, computes in float between numbers that are quantised:
 *
 *     Quantize(MatMul(Dequantize(a), Dequantize(b)))          becomes QLinearMatMul
 *     Quantize(Conv(Dequantize(x), Dequantize(w), bias))      becomes QLinearConv
 *
 * Inexact: the sums are exact integers, which are rounded once, so that a number may be the next one. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "gateway/optimise/pass.h"

/* Numbers as integers: (values - zero point) × scale. */
typedef struct Quantized {
    Endpoint values;
    Endpoint scale;
    Endpoint zero_point; /* of node NODE_NONE: 0 */
    Endpoint floats;     /* what a DequantizeLinear makes of them */
} Quantized;

/* A product between quantised numbers. */
typedef struct QuantizedProduct {
    Quantized left;
    Quantized right;
    Quantized result; /* its values are the node that becomes the product of integers */
    Endpoint bias;    /* int32, of node NODE_NONE: none */
    uint32_t product;
} QuantizedProduct;

typedef struct ProductRule {
    const char *op;
    const char *becomes;
    /* Fills the bias; returns false for a product that the op on integers does not compute. */
    bool (*fits)(const Rewrite *rewrite, QuantizedProduct *product);
    const char *const *attributes; /* which the new node keeps; ended by NULL */
    const char *scale_type;        /* the attribute of the scales' dtype, or NULL */
} ProductRule;

static bool
is_byte(Dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8;
}

static int64_t
count_of(const Rewrite *rewrite, Endpoint endpoint)
{
    const Shape *shape = rewrite_shape(rewrite, endpoint);
    int64_t count = -1;
    return shape_is_known(shape) && shape_element_count(shape, &count) ? count : -1;
}

static bool
has_one_scale(const Rewrite *rewrite, const Quantized *quantized)
{
    return count_of(rewrite, quantized->scale) == 1;
}

/* Reads the inputs of a QuantizeLinear or a DequantizeLinear; returns false unless scale and zero point are
 * constant and there is one for all numbers, or one for each position along an axis. */
static bool
read_scaling(const Rewrite *rewrite, uint32_t id, Quantized *ret_quantized)
{
    const Node *node = rewrite_node(rewrite, id);
    *ret_quantized = (Quantized){.values = rewrite_input(rewrite, id, 0),
        .scale = rewrite_input(rewrite, id, 1),
        .zero_point = rewrite_input(rewrite, id, 2)};
    bool has_zero_point = ret_quantized->zero_point.node != NODE_NONE;
    return node->control_count == 0 && node_attr_int(node, "block_size") == 0 &&
           node_attr_type(node, "output_dtype") == DTYPE_INVALID &&
           rewrite_is_fixed(rewrite, ret_quantized->scale) &&
           rewrite_dtype(rewrite, ret_quantized->scale) == DTYPE_FLOAT32 &&
           rewrite_shape(rewrite, ret_quantized->scale)->rank <= 1 &&
           count_of(rewrite, ret_quantized->scale) > 0 &&
           (!has_zero_point ||
               (rewrite_is_fixed(rewrite, ret_quantized->zero_point) &&
                   count_of(rewrite, ret_quantized->zero_point) == count_of(rewrite, ret_quantized->scale)));
}

static bool
read_dequantized(const Rewrite *rewrite, Endpoint floats, Quantized *ret_quantized)
{
    if (floats.node == NODE_NONE || !rewrite_is(rewrite, floats.node, "onnx::DequantizeLinear") ||
        rewrite_dtype(rewrite, floats) != DTYPE_FLOAT32 ||
        !read_scaling(rewrite, floats.node, ret_quantized)) {
        return false;
    }
    ret_quantized->floats = floats;
    return true;
}

/* Returns true when the numbers have one scale, or one for each position along this axis of theirs. */
static bool
is_scaled_along(const Rewrite *rewrite, const Quantized *quantized, int axis)
{
    const Shape *shape = rewrite_shape(rewrite, quantized->values);
    int64_t own = node_attr_int(rewrite_node(rewrite, quantized->floats.node), "axis");
    int64_t position = own < 0 ? own + shape->rank : own;
    return has_one_scale(rewrite, quantized) ||
           (position == axis && shape->dims[axis] == count_of(rewrite, quantized->scale));
}

static bool
fits_matmul(const Rewrite *rewrite, QuantizedProduct *product)
{
    int rank = rewrite_shape(rewrite, product->right.values)->rank;
    product->bias = (Endpoint){.node = NODE_NONE};
    return rewrite_shape(rewrite, product->left.values)->rank >= 2 && rank >= 2 &&
           is_scaled_along(rewrite, &product->right, rank - 1);
}

static bool
is_all_zero(const Tensor *tensor)
{
    size_t size = tensor_byte_size(tensor);
    const char *bytes = tensor->data;
    size_t index = 0;
    while (index < size && bytes[index] == 0) {
        index++;
    }
    return index == size;
}

static float
scale_at(const Tensor *scale, int64_t index)
{
    const float *scales = scale->data;
    return scales[tensor_element_count(scale) == 1 ? 0 : index];
}

/* Returns true when the bias counts in products of the two scales, up to their rounding. */
static bool
has_scale_of_products(const Rewrite *rewrite, const Quantized *bias, const QuantizedProduct *product)
{
    const Tensor *own = rewrite_constant(rewrite, bias->scale);
    const Tensor *left = rewrite_constant(rewrite, product->left.scale);
    const Tensor *right = rewrite_constant(rewrite, product->right.scale);
    bool has_product = own != NULL && left != NULL && right != NULL;
    int64_t count = count_of(rewrite, bias->values);
    for (int64_t channel = 0; has_product && channel < count; channel++) {
        double expected = (double)scale_at(left, 0) * (double)scale_at(right, channel);
        has_product = fabs((double)scale_at(own, channel) - expected) <= fabs(expected) * 0x1p-20;
    }
    return has_product;
}

/* Reads the bias of a convolution: none, or int32 in products of the scales. */
static bool
read_bias(const Rewrite *rewrite, QuantizedProduct *product)
{
    Endpoint floats = rewrite_input(rewrite, product->product, 2);
    Quantized bias;
    product->bias = (Endpoint){.node = NODE_NONE};
    if (floats.node == NODE_NONE) {
        return true;
    }
    if (!read_dequantized(rewrite, floats, &bias) || rewrite_dtype(rewrite, bias.values) != DTYPE_INT32 ||
        rewrite_shape(rewrite, bias.values)->rank != 1 || !is_scaled_along(rewrite, &bias, 0)) {
        return false;
    }
    const Tensor *zeros = rewrite_constant(rewrite, bias.zero_point);
    product->bias = bias.values;
    return (bias.zero_point.node == NODE_NONE || (zeros != NULL && is_all_zero(zeros))) &&
           has_scale_of_products(rewrite, &bias, product);
}

static bool
fits_conv(const Rewrite *rewrite, QuantizedProduct *product)
{
    return rewrite_shape(rewrite, product->right.values)->rank >= 3 &&
           is_scaled_along(rewrite, &product->right, 0) && read_bias(rewrite, product);
}

static const char *const no_attributes[] = {NULL};
static const char *const window_attributes[] = {
    "auto_pad", "dilations", "group", "kernel_shape", "pads", "strides", NULL};

static const ProductRule rules[] = {
    {"onnx::MatMul", "onnx::QLinearMatMul", fits_matmul, no_attributes, "TS"},
    {"onnx::Conv", "onnx::QLinearConv", fits_conv, window_attributes, NULL},
};

static const ProductRule *
find_rule(const Rewrite *rewrite, uint32_t id)
{
    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        if (rewrite_is(rewrite, id, rules[index].op)) {
            return &rules[index];
        }
    }
    return NULL;
}

static bool
has_zero_points(const QuantizedProduct *product)
{
    return product->left.zero_point.node != NODE_NONE && product->right.zero_point.node != NODE_NONE &&
           product->result.zero_point.node != NODE_NONE;
}

/* Returns true when all numbers are bytes, and those on the left and of the result have one scale. */
static bool
has_scales(const Rewrite *rewrite, const QuantizedProduct *product)
{
    return is_byte(rewrite_dtype(rewrite, product->left.values)) &&
           is_byte(rewrite_dtype(rewrite, product->right.values)) &&
           is_byte(rewrite_dtype(rewrite, product->result.values)) &&
           has_one_scale(rewrite, &product->left) && has_one_scale(rewrite, &product->result);
}

/* Finds the product that only this QuantizeLinear reads. Zero points that are absent become constants, of
 * which a loop must have none. */
static const ProductRule *
find_product(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, QuantizedProduct *product)
{
    if (!rewrite_is(rewrite, id, "onnx::QuantizeLinear") || counts[id][0] == 0 ||
        !read_scaling(rewrite, id, &product->result)) {
        return NULL;
    }
    product->product = product->result.values.node;
    product->result.values = (Endpoint){.node = id};
    const ProductRule *rule = find_rule(rewrite, product->product);
    bool is_found = rule != NULL && rewrite_is_private(rewrite, counts, product->product, id) &&
                    rewrite_node(rewrite, product->product)->control_count == 0 &&
                    read_dequantized(rewrite, rewrite_input(rewrite, product->product, 0), &product->left) &&
                    read_dequantized(rewrite, rewrite_input(rewrite, product->product, 1), &product->right) &&
                    has_scales(rewrite, product) && rule->fits(rewrite, product) &&
                    (has_zero_points(product) || !rewrite_is_in_loop(rewrite, id));
    return is_found ? rule : NULL;
}

/* Adds zero points of 0, as many as there are scales, when there are none. */
static Status
complete(Rewrite *rewrite, uint32_t beside, Quantized *quantized)
{
    AUTO_TENSOR zeros = {0};
    if (quantized->zero_point.node != NODE_NONE) {
        return STATUS_OK;
    }
    Dtype dtype = rewrite_dtype(rewrite, quantized->values);
    const Shape *shape = rewrite_shape(rewrite, quantized->scale);
    if (!tensor_new(dtype, shape, &zeros)) {
        return rewrite_no_memory(rewrite);
    }
    memset(zeros.data, 0, tensor_byte_size(&zeros));
    return rewrite_add_constant(rewrite, beside, "zero", &zeros, &quantized->zero_point);
}

enum { INPUTS = 9, ATTRS_MAX = 10 };

static Attr
type_attr(const char *name, Dtype dtype)
{
    return (Attr){.name = slice_from_string(name), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
}

static uint32_t
collect_attrs(const Rewrite *rewrite, const QuantizedProduct *product, const ProductRule *rule, Attr *attrs)
{
    uint32_t count = 0;
    const Node *node = rewrite_node(rewrite, product->product);
    attrs[count++] = type_attr("T1", rewrite_dtype(rewrite, product->left.values));
    attrs[count++] = type_attr("T2", rewrite_dtype(rewrite, product->right.values));
    attrs[count++] = type_attr("T3", rewrite_dtype(rewrite, product->result.values));
    if (rule->scale_type != NULL) {
        attrs[count++] = type_attr(rule->scale_type, DTYPE_FLOAT32);
    }
    for (const char *const *name = rule->attributes; *name != NULL; name++) {
        attrs[count++] = (Attr){.name = slice_from_string(*name), .value = *node_attr(node, *name)};
    }
    assert(count <= ATTRS_MAX);
    return count;
}

static Status
replace_by_integers(Rewrite *rewrite, uint32_t id, const ProductRule *rule, QuantizedProduct *product)
{
    Attr attrs[ATTRS_MAX];
    TRY(complete(rewrite, id, &product->left));
    TRY(complete(rewrite, id, &product->right));
    TRY(complete(rewrite, id, &product->result));
    const Endpoint inputs[INPUTS] = {product->left.values, product->left.scale, product->left.zero_point,
        product->right.values, product->right.scale, product->right.zero_point, product->result.scale,
        product->result.zero_point, product->bias};
    RewriteOp becomes = {.op = rule->becomes,
        .inputs = inputs,
        .input_count = product->bias.node == NODE_NONE ? INPUTS - 1 : INPUTS,
        .attrs = attrs,
        .attr_count = collect_attrs(rewrite, product, rule, attrs)};
    return rewrite_replace(rewrite, id, &becomes);
}

static Status
quantized_products(Rewrite *rewrite)
{
    uint32_t **counts = NULL;
    TRY(rewrite_count_readers(rewrite, &counts));
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        QuantizedProduct product;
        const ProductRule *rule = find_product(rewrite, counts, id, &product);
        if (rule != NULL) {
            TRY(replace_by_integers(rewrite, id, rule, &product));
        }
    }
    return STATUS_OK;
}

PASS(quantized_products, PASS_SIMPLIFY, false);
