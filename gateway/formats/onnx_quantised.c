/* Operators of ONNX Runtime (com.microsoft) that models of theirs carry once they are quantised, written out
 * in the standard's: numbers become floats, are computed with, and are quantised again; products of integers
 * stay products of integers. Others are left as they are. */
#include "gateway/formats/onnx_spell.h"

/* Fails unless the node has so many inputs; zero points among them may be absent. */
static Status
check_count(const OnnxImport *import, const OnnxNode *node, size_t least)
{
    return node->input_count >= least ? STATUS_OK
                                      : call_fail(import->call, STATUS_INVALID_ARGUMENT,
                                            "has %zu inputs, not %zu", node->input_count, least);
}

/* Emits the floats that three inputs of the node stand for: numbers, their scale, their zero point. */
static Status
emit_floats(OnnxImport *import, const OnnxNode *whole, size_t first, Slice *ret_name)
{
    Slice inputs[] = {
        spell_input(whole, first), spell_input(whole, first + 1), spell_input(whole, first + 2)};
    return spell_emit(import, whole, "DequantizeLinear", inputs, 3, ret_name);
}

/* Emits the zero point of a result that has none: 0 in the dtype of the first operand, which its zero point
 * has, too. Without it QuantizeLinear gives uint8. */
static Status
emit_zero_point(OnnxImport *import, const OnnxNode *whole, Slice *ret_name)
{
    Slice like = spell_input(whole, spell_has(whole, 2) ? 2 : 0);
    return spell_number_like(import, whole, "zero_point", 0, like, ret_name);
}

/* Computes in floats: `operands` quantised tensors, then the scale and the zero point of the result. */
static Status
compute_in_floats(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    Slice floats[2] = {SLICE(""), SLICE("")};
    Slice result[3];
    TRY(check_count(import, node, 3 * operands + 1));
    if (spell_int(node, "channels_last", 0) != 0) {
        return spell_refuse(import, "channels_last=1");
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
    result[1] = spell_input(node, 3 * operands);
    result[2] = spell_input(node, 3 * operands + 1);
    if (result[2].size == 0) {
        TRY(emit_zero_point(import, node, &result[2]));
    }
    spell_become(node, "QuantizeLinear", result, 3);
    return STATUS_OK;
}

static Status
compute_concat(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)operands;
    size_t count = node->input_count < 2 ? 0 : (node->input_count - 2) / 3;
    Slice *floats = arena_alloc(import->scratch, (count + 1) * sizeof *floats);
    Attr attrs[] = {spell_int_attr("N", (int64_t)count), spell_int_attr("axis", spell_int(node, "axis", 0))};
    if (floats == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    TRY(check_count(import, node, 5));
    for (size_t index = 0; index < count; index++) {
        TRY(emit_floats(import, node, 2 + 3 * index, &floats[index]));
    }
    OnnxNode part = {.type = slice_from_string(type),
        .inputs = floats,
        .input_count = count,
        .attrs = attrs,
        .attr_count = 2};
    Slice result[3];
    TRY(onnx_emit_part(import, node, type, &part, &result[0]));
    result[1] = node->inputs[0];
    result[2] = node->inputs[1];
    spell_become(node, "QuantizeLinear", result, 3);
    return STATUS_OK;
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
    TRY(spell_emit(import, whole, "MatMulInteger", inputs, 4, &sums));
    if (product->addend.size > 0) {
        TRY(spell_pair(import, whole, "Add", sums, product->addend, &sums));
    }
    TRY(spell_floats(import, whole, sums, ret_sums));
    return spell_pair(import, whole, "Mul", product->a_scale, product->b_scale, ret_scale);
}

/* Ends with scaled sums, and perhaps a bias. */
static Status
finish_floats(OnnxImport *import, OnnxNode *node, const IntegerMatmul *product, Slice bias)
{
    Slice last[2];
    TRY(emit_product(import, node, product, &last[0], &last[1]));
    if (bias.size == 0) {
        spell_become(node, "Mul", last, 2);
        return STATUS_OK;
    }
    TRY(spell_pair(import, node, "Mul", last[0], last[1], &last[0]));
    last[1] = bias;
    spell_become(node, "Add", last, 2);
    return STATUS_OK;
}

static Status
dynamic_matmul(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)operands;
    IntegerMatmul product = {.b = spell_input(node, 1),
        .b_scale = spell_input(node, 2),
        .b_zero = spell_input(node, 3),
        .addend = SLICE("")};
    Slice a = spell_input(node, 0);
    TRY(check_count(import, node, 3));
    TRY(spell_emit(import, node, type, &a, 1, &product.a));
    TRY(spell_port(import, product.a, 1, &product.a_scale));
    TRY(spell_port(import, product.a, 2, &product.a_zero));
    return finish_floats(import, node, &product, spell_input(node, 4));
}

static Status
integer_matmul_to_float(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)type;
    (void)operands;
    IntegerMatmul product = {.a = spell_input(node, 0),
        .b = spell_input(node, 1),
        .a_scale = spell_input(node, 2),
        .b_scale = spell_input(node, 3),
        .a_zero = spell_input(node, 4),
        .b_zero = spell_input(node, 5),
        .addend = SLICE("")};
    TRY(check_count(import, node, 4));
    return finish_floats(import, node, &product, spell_input(node, 6));
}

static Status
transpose_if(OnnxImport *import, const OnnxNode *node, const char *attribute, Slice *matrix)
{
    Slice given = *matrix;
    return spell_int(node, attribute, 0) != 0 ? spell_emit(import, node, "Transpose", &given, 1, matrix)
                                              : STATUS_OK;
}

/* A factor of 1, the default, is the only one: it would be a part of the scale. */
static Status
quantised_gemm(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    (void)type;
    (void)operands;
    const AttrValue *alpha = onnx_attr(node, "alpha");
    IntegerMatmul product = {.a = spell_input(node, 0),
        .a_scale = spell_input(node, 1),
        .a_zero = spell_input(node, 2),
        .b = spell_input(node, 3),
        .b_scale = spell_input(node, 4),
        .b_zero = spell_input(node, 5),
        .addend = spell_input(node, 6)};
    TRY(check_count(import, node, 6));
    if (alpha != NULL && (alpha->kind != ATTR_FLOAT || alpha->value.f != 1)) {
        return spell_refuse(import, "an alpha that is not 1");
    }
    TRY(transpose_if(import, node, "transA", &product.a));
    TRY(transpose_if(import, node, "transB", &product.b));
    if (spell_input(node, 7).size == 0) {
        return finish_floats(import, node, &product, SLICE(""));
    }
    Slice last[3] = {SLICE(""), spell_input(node, 7), spell_input(node, 8)};
    Slice scale;
    TRY(emit_product(import, node, &product, &last[0], &scale));
    TRY(spell_pair(import, node, "Mul", last[0], scale, &last[0]));
    spell_become(node, "QuantizeLinear", last, 3);
    return STATUS_OK;
}

/* A softmax of quantised numbers; its opset tells what an absent axis is, and is the model's. */
static Status
quantised_softmax(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    enum { LAST_AXIS_OPSET = 13 };
    int64_t opset = spell_int(node, "opset", LAST_AXIS_OPSET);
    int64_t axis = spell_int(node, "axis", opset < LAST_AXIS_OPSET ? 1 : -1);
    if (opset < LAST_AXIS_OPSET && axis != -1) {
        return spell_refuse(import, "its form of before opset 13, which flattens");
    }
    node->attr_count = 0;
    onnx_attr_set(node, "axis", spell_int_attr("", axis).value);
    return compute_in_floats(import, node, type, operands);
}

static Status
quantised_where(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    enum { CONDITION, LEFT, RIGHT = 4, SCALE = 7, ZERO };
    Slice inputs[3] = {spell_input(node, CONDITION)};
    Slice result[3] = {SLICE(""), spell_input(node, SCALE), spell_input(node, ZERO)};
    TRY(check_count(import, node, 1 + 3 * operands + 1));
    TRY(emit_floats(import, node, LEFT, &inputs[1]));
    TRY(emit_floats(import, node, RIGHT, &inputs[2]));
    TRY(spell_emit(import, node, type, inputs, COUNT_OF(inputs), &result[0]));
    spell_become(node, "QuantizeLinear", result, COUNT_OF(result));
    return STATUS_OK;
}

/* The node is the standard's of the same name. */
static Status
rename_node(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    TRY(check_count(import, node, inputs));
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    return STATUS_OK;
}

/* Emits weights of an LSTM, [directions, size, 4 hidden] with a scale and a zero point for each direction or
 * for each column, as floats, transposed. */
static Status
emit_lstm_weights(OnnxImport *import, const OnnxNode *node, Slice numbers, size_t scale, Slice *ret_weights)
{
    static const int64_t columns[] = {0, 1, -1};
    Slice shape;
    Slice factor;
    Slice zero;
    AttrValue order[] = {
        spell_int_attr("", 0).value, spell_int_attr("", 2).value, spell_int_attr("", 1).value};
    void *memory = NULL;
    TRY(builder_alloc(import->builder, COUNT_OF(order), sizeof *order, &memory));
    memcpy(memory, order, sizeof order);
    Attr perm = {.name = SLICE("perm"),
        .value = {.kind = ATTR_INT, .is_list = true, .value.list = {COUNT_OF(order), memory}}};
    TRY(spell_ints(import, node, "columns", columns, COUNT_OF(columns), &shape));
    TRY(spell_pair(import, node, "Reshape", spell_input(node, scale), shape, &factor));
    TRY(spell_floats(import, node, numbers, ret_weights));
    if (spell_has(node, scale + 1)) {
        TRY(spell_floats(import, node, spell_input(node, scale + 1), &zero));
        TRY(spell_pair(import, node, "Reshape", zero, shape, &zero));
        TRY(spell_pair(import, node, "Sub", *ret_weights, zero, ret_weights));
    }
    TRY(spell_pair(import, node, "Mul", *ret_weights, factor, ret_weights));
    return spell_with(import, node, "Transpose", *ret_weights, perm, ret_weights);
}

/* An LSTM whose weights are bytes. Its input is rounded to bytes, as ONNX Runtime does; its state, which ONNX
 * Runtime rounds at each step, stays in floats. */
static Status
dynamic_lstm(OnnxImport *import, OnnxNode *node, const char *type, size_t own)
{
    enum { X, W, R, SCALES_OF_W = 8, SCALES_OF_R = 10, ALL = 12 };
    Slice rounded[3] = {SLICE("")};
    TRY(check_count(import, node, ALL - 1));
    TRY(spell_check_inputs(import, node, 3, ALL));
    TRY(spell_emit(import, node, "DynamicQuantizeLinear", node->inputs, 1, &rounded[0]));
    TRY(spell_port(import, rounded[0], 1, &rounded[1]));
    TRY(spell_port(import, rounded[0], 2, &rounded[2]));
    TRY(spell_emit(import, node, "DequantizeLinear", rounded, COUNT_OF(rounded), &node->inputs[X]));
    TRY(emit_lstm_weights(import, node, node->inputs[W], SCALES_OF_W, &node->inputs[W]));
    TRY(emit_lstm_weights(import, node, node->inputs[R], SCALES_OF_R, &node->inputs[R]));
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    node->input_count = own;
    return STATUS_OK;
}

/* Rows are chosen while they are packed, with their scales and zero points, and unpacked then. */
static Status
gather_blocks(OnnxImport *import, OnnxNode *node, const char *type, size_t operands)
{
    enum { DATA, INDICES, SCALES, ZERO_POINTS, ALL };
    enum { USUAL_SIZE = 128, USUAL_BITS = 4 };
    static const size_t gathered[] = {DATA, SCALES, ZERO_POINTS};
    Attr attrs[] = {spell_int_attr("bits", spell_int(node, "bits", USUAL_BITS)),
        spell_int_attr("block_size", spell_int(node, "block_size", USUAL_SIZE))};
    Slice rows[COUNT_OF(gathered)];
    TRY(spell_check_inputs(import, node, operands, ALL));
    if (spell_int(node, "gather_axis", 0) != 0) {
        return spell_refuse(import, "a gather_axis that is not 0");
    }
    size_t count = spell_has(node, ZERO_POINTS) ? COUNT_OF(gathered) : COUNT_OF(gathered) - 1;
    for (size_t index = 0; index < count; index++) {
        TRY(spell_pair(
            import, node, "Gather", node->inputs[gathered[index]], node->inputs[INDICES], &rows[index]));
    }
    spell_become(node, type, rows, count);
    node->is_default_domain = false;
    onnx_attr_set(node, "bits", attrs[0].value);
    onnx_attr_set(node, "block_size", attrs[1].value);
    return STATUS_OK;
}

static const OnnxSpelling quantised[] = {
    {"com.microsoft::DequantizeLinear", rename_node, "DequantizeLinear", 2},
    {"com.microsoft::DynamicQuantizeLSTM", dynamic_lstm, "LSTM", 8},
    {"com.microsoft::DynamicQuantizeMatMul", dynamic_matmul, "DynamicQuantizeLinear", 1},
    {"com.microsoft::GatherBlockQuantized", gather_blocks, "com.microsoft::_UnpackBlocks", 3},
    {"com.microsoft::MatMulIntegerToFloat", integer_matmul_to_float, NULL, 2},
    {"com.microsoft::QGemm", quantised_gemm, NULL, 2},
    {"com.microsoft::QLinearAdd", compute_in_floats, "Add", 2},
    {"com.microsoft::QLinearAveragePool", compute_in_floats, "AveragePool", 1},
    {"com.microsoft::QLinearConcat", compute_concat, "Concat", 0},
    {"com.microsoft::QLinearGlobalAveragePool", compute_in_floats, "GlobalAveragePool", 1},
    {"com.microsoft::QLinearLeakyRelu", compute_in_floats, "LeakyRelu", 1},
    {"com.microsoft::QLinearMul", compute_in_floats, "Mul", 2},
    {"com.microsoft::QLinearSigmoid", compute_in_floats, "Sigmoid", 1},
    {"com.microsoft::QLinearSoftmax", quantised_softmax, "Softmax", 1},
    {"com.microsoft::QLinearWhere", quantised_where, "Where", 2},
    {"com.microsoft::QuantizeLinear", rename_node, "QuantizeLinear", 2},
};

const OnnxSpellings onnx_quantised_spellings = {quantised, COUNT_OF(quantised)};
