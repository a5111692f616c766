/* Operators of ONNX Runtime (com.microsoft) that models of theirs carry once they are quantised, written out
 * in the standard's: numbers become floats, are computed with, and are quantised again; products of integers
 * stay products of integers. Others are left as they are. */
#include <assert.h>

#include "gateway/formats/onnx_import.h"

#include "shared/base/text.h"

static Slice
input_of(const OnnxNode *node, size_t index)
{
    return index < node->input_count ? node->inputs[index] : SLICE("");
}

/* Emits a node of the standard with these inputs. */
static Status
emit(OnnxImport *import, const OnnxNode *whole, const char *type, Slice *inputs, size_t input_count,
    Slice *ret_name)
{
    OnnxNode part = {.type = slice_from_string(type), .inputs = inputs, .input_count = input_count};
    return onnx_emit_part(import, whole, type, &part, ret_name);
}

static Status
emit_cast(OnnxImport *import, const OnnxNode *whole, Slice input, Slice *ret_name)
{
    Attr to = {.name = SLICE("to"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32}};
    OnnxNode part = {
        .type = SLICE("Cast"), .inputs = &input, .input_count = 1, .attrs = &to, .attr_count = 1};
    return onnx_emit_part(import, whole, "Cast", &part, ret_name);
}

static Status
emit_pair(
    OnnxImport *import, const OnnxNode *whole, const char *type, Slice left, Slice right, Slice *ret_name)
{
    Slice inputs[] = {left, right};
    return emit(import, whole, type, inputs, 2, ret_name);
}

/* Emits the floats that three inputs of the node stand for: numbers, their scale, their zero point. */
static Status
emit_floats(OnnxImport *import, const OnnxNode *whole, size_t first, Slice *ret_name)
{
    Slice inputs[] = {input_of(whole, first), input_of(whole, first + 1), input_of(whole, first + 2)};
    return emit(import, whole, "DequantizeLinear", inputs, 3, ret_name);
}

/* Turns the node into one of the standard, of no more inputs than it has. */
static Status
become(OnnxNode *node, const char *type, const Slice *inputs, size_t input_count)
{
    assert(input_count <= node->input_count);
    memcpy(node->inputs, inputs, input_count * sizeof *inputs);
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    node->input_count = input_count;
    node->attr_count = 0;
    return STATUS_OK;
}

static Status
check_inputs(OnnxImport *import, const OnnxNode *node, size_t least)
{
    return node->input_count >= least ? STATUS_OK
                                      : call_fail(import->call, STATUS_INVALID_ARGUMENT,
                                            "has %zu inputs, not %zu", node->input_count, least);
}

/* Computes in floats: `operands` quantised tensors, then the scale and the zero point of the result. */
static Status
compute_in_floats(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    Slice floats[2] = {SLICE(""), SLICE("")};
    Slice result[3];
    const AttrValue *last = onnx_attr(node, "channels_last");
    TRY(check_inputs(import, node, 3 * operands + 1));
    if (last != NULL && last->value.i != 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "channels_last=1 cannot be imported");
    }
    onnx_attr_remove(node, "channels_last");
    for (size_t index = 0; index < operands; index++) {
        TRY(emit_floats(import, node, 3 * index, &floats[index]));
    }
    OnnxNode part = {.type = slice_from_string(type),
        .inputs = floats,
        .input_count = operands,
        .attrs = node->attrs,
        .attr_count = node->attr_count};
    TRY(onnx_emit_part(import, node, type, &part, &result[0]));
    result[1] = input_of(node, 3 * operands);
    result[2] = input_of(node, 3 * operands + 1);
    return become(node, "QuantizeLinear", result, 3);
}

static Status
compute_concat(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)operands;
    size_t count = node->input_count < 2 ? 0 : (node->input_count - 2) / 3;
    Slice *floats = arena_alloc(import->scratch, (count + 1) * sizeof *floats);
    Attr attrs[2] = {{.name = SLICE("N"), .value = {.kind = ATTR_INT, .value.i = (int64_t)count}}};
    const AttrValue *axis = onnx_attr(node, "axis");
    if (floats == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    TRY(check_inputs(import, node, 5));
    for (size_t index = 0; index < count; index++) {
        TRY(emit_floats(import, node, 2 + 3 * index, &floats[index]));
    }
    attrs[1] = (Attr){
        .name = SLICE("axis"), .value = {.kind = ATTR_INT, .value.i = axis == NULL ? 0 : axis->value.i}};
    OnnxNode part = {.type = slice_from_string(type),
        .inputs = floats,
        .input_count = count,
        .attrs = attrs,
        .attr_count = 2};
    Slice result[3];
    TRY(onnx_emit_part(import, node, type, &part, &result[0]));
    result[1] = node->inputs[0];
    result[2] = node->inputs[1];
    return become(node, "QuantizeLinear", result, 3);
}

/* A product of integers whose sums become floats. */
typedef struct IntegerMatmul {
    Slice a;
    Slice b;
    Slice a_zero;
    Slice b_zero;
    Slice a_scale;
    Slice b_scale;
    Slice addend; /* to the sums; "": none */
} IntegerMatmul;

/* Emits the sums as floats, and the product of both scales. */
static Status
emit_product(OnnxImport *import, const OnnxNode *whole, const IntegerMatmul *product, Slice *ret_sums,
    Slice *ret_scale)
{
    Slice inputs[] = {product->a, product->b, product->a_zero, product->b_zero};
    Slice sums;
    TRY(emit(import, whole, "MatMulInteger", inputs, 4, &sums));
    if (product->addend.size > 0) {
        TRY(emit_pair(import, whole, "Add", sums, product->addend, &sums));
    }
    TRY(emit_cast(import, whole, sums, ret_sums));
    return emit_pair(import, whole, "Mul", product->a_scale, product->b_scale, ret_scale);
}

/* Ends with scaled sums, and perhaps a bias. */
static Status
finish_floats(OnnxImport *import, OnnxNode *node, const IntegerMatmul *product, Slice bias)
{
    Slice last[2];
    TRY(emit_product(import, node, product, &last[0], &last[1]));
    if (bias.size == 0) {
        return become(node, "Mul", last, 2);
    }
    TRY(emit_pair(import, node, "Mul", last[0], last[1], &last[0]));
    last[1] = bias;
    return become(node, "Add", last, 2);
}

static Status
port_of(OnnxImport *import, Slice name, int port, Slice *ret_endpoint)
{
    const char *text = text_format(import->builder->def->arena, "%.*s:%d", SLICE_PRINT(name), port);
    *ret_endpoint = slice_from_string(text == NULL ? "" : text);
    return text == NULL ? call_fail_memory(import->call, "nodes") : STATUS_OK;
}

static Status
dynamic_matmul(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)operands;
    IntegerMatmul product = {.b = input_of(node, 1),
        .b_scale = input_of(node, 2),
        .b_zero = input_of(node, 3),
        .addend = SLICE("")};
    Slice a = input_of(node, 0);
    TRY(check_inputs(import, node, 3));
    TRY(emit(import, node, type, &a, 1, &product.a));
    TRY(port_of(import, product.a, 1, &product.a_scale));
    TRY(port_of(import, product.a, 2, &product.a_zero));
    return finish_floats(import, node, &product, input_of(node, 4));
}

static Status
integer_matmul_to_float(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)type;
    (void)operands;
    IntegerMatmul product = {.a = input_of(node, 0),
        .b = input_of(node, 1),
        .a_scale = input_of(node, 2),
        .b_scale = input_of(node, 3),
        .a_zero = input_of(node, 4),
        .b_zero = input_of(node, 5),
        .addend = SLICE("")};
    TRY(check_inputs(import, node, 4));
    return finish_floats(import, node, &product, input_of(node, 6));
}

static bool
is_set(const OnnxNode *node, const char *name)
{
    const AttrValue *value = onnx_attr(node, name);
    return value != NULL && value->value.i != 0;
}

static Status
transpose_if(OnnxImport *import, const OnnxNode *node, const char *attribute, Slice *matrix)
{
    Slice given = *matrix;
    return is_set(node, attribute) ? emit(import, node, "Transpose", &given, 1, matrix) : STATUS_OK;
}

/* A factor of 1, the default, is the only one: it would be a part of the scale. */
static Status
quantised_gemm(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)type;
    (void)operands;
    const AttrValue *alpha = onnx_attr(node, "alpha");
    IntegerMatmul product = {.a = input_of(node, 0),
        .a_scale = input_of(node, 1),
        .a_zero = input_of(node, 2),
        .b = input_of(node, 3),
        .b_scale = input_of(node, 4),
        .b_zero = input_of(node, 5),
        .addend = input_of(node, 6)};
    TRY(check_inputs(import, node, 6));
    if (alpha != NULL && (alpha->kind != ATTR_FLOAT || alpha->value.f != 1)) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "an alpha that is not 1 cannot be imported");
    }
    TRY(transpose_if(import, node, "transA", &product.a));
    TRY(transpose_if(import, node, "transB", &product.b));
    if (input_of(node, 7).size == 0) {
        return finish_floats(import, node, &product, SLICE(""));
    }
    Slice last[3] = {SLICE(""), input_of(node, 7), input_of(node, 8)};
    Slice scale;
    TRY(emit_product(import, node, &product, &last[0], &scale));
    TRY(emit_pair(import, node, "Mul", last[0], scale, &last[0]));
    return become(node, "QuantizeLinear", last, 3);
}

static const struct {
    const char *type;
    Status (*write_out)(OnnxImport *import, OnnxNode *node, const char *argument, size_t operands);
    const char *argument; /* the standard's operator */
    size_t operands;
} operators[] = {
    {"com.microsoft::DynamicQuantizeMatMul", dynamic_matmul, "DynamicQuantizeLinear", 1},
    {"com.microsoft::MatMulIntegerToFloat", integer_matmul_to_float, NULL, 2},
    {"com.microsoft::QGemm", quantised_gemm, NULL, 2},
    {"com.microsoft::QLinearAdd", compute_in_floats, "Add", 2},
    {"com.microsoft::QLinearAveragePool", compute_in_floats, "AveragePool", 1},
    {"com.microsoft::QLinearConcat", compute_concat, "Concat", 0},
    {"com.microsoft::QLinearGlobalAveragePool", compute_in_floats, "GlobalAveragePool", 1},
    {"com.microsoft::QLinearLeakyRelu", compute_in_floats, "LeakyRelu", 1},
    {"com.microsoft::QLinearMul", compute_in_floats, "Mul", 2},
    {"com.microsoft::QLinearSigmoid", compute_in_floats, "Sigmoid", 1},
};

Status
onnx_quantised(OnnxImport *import, OnnxNode *node)
{
    for (size_t index = 0; index < COUNT_OF(operators); index++) {
        if (slice_equals_string(node->type, operators[index].type)) {
            return operators[index].write_out(
                import, node, operators[index].argument, operators[index].operands);
        }
    }
    return STATUS_OK;
}
