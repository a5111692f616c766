/* Operators beside those of ONNX's own domain, spelled out in these; most are written into models by ONNX
 * Runtime's optimisers. The rule is its documentation of them (docs/ContribOperators.md). */
#include "gateway/formats/onnx_spell.h"

static Status
spell_gelu(OnnxImport *import, OnnxNode *node, const char *approximate, size_t most)
{
    TRY(spell_check_inputs(import, node, 1, most));
    if (spell_has(node, 1)) {
        TRY(spell_pair(import, node, "Add", node->inputs[0], node->inputs[1], &node->inputs[0]));
    }
    node->input_count = 1;
    onnx_attr_set(
        node, "approximate", (AttrValue){.kind = ATTR_STRING, .value.s = slice_from_string(approximate)});
    node->type = SLICE("Gelu");
    node->is_default_domain = true;
    return STATUS_OK;
}

static Status
spell_quick_gelu(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    static const float usual_alpha = 1.702F;
    float alpha = spell_float(node, "alpha", usual_alpha);
    TRY(spell_check_inputs(import, node, inputs, inputs));
    onnx_attr_set(node, "alpha", (AttrValue){.kind = ATTR_FLOAT, .value.f = alpha});
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    return STATUS_OK;
}

static Status
spell_fused_matmul(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    Slice name;
    float alpha = spell_float(node, "alpha", 1);
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (spell_int(node, "transBatchA", 0) != 0 || spell_int(node, "transBatchB", 0) != 0) {
        return spell_refuse(import, "transBatchA or transBatchB");
    }
    Attr attrs[] = {
        {.name = SLICE("adj_x"), .value = {.kind = ATTR_BOOL, .value.b = spell_int(node, "transA", 0) != 0}},
        {.name = SLICE("adj_y"), .value = {.kind = ATTR_BOOL, .value.b = spell_int(node, "transB", 0) != 0}},
        {.name = SLICE("")},
    };
    OnnxNode product = {.type = slice_from_string(type),
        .inputs = node->inputs,
        .input_count = inputs,
        .attrs = attrs,
        .attr_count = 2};
    TRY(spell_foreign(import, node, "product", &product, &name));
    spell_become(node, alpha == 1 ? "Identity" : "Mul", &name, 1);
    return alpha == 1 ? STATUS_OK : onnx_float_input(import, node, "alpha", 1, alpha);
}

/* SimplifiedLayerNormalization stands in ONNX's own domain, in which ONNX does not have it. */
static Status
spell_simplified_norm(OnnxImport *import, OnnxNode *node, const char *type, size_t outputs)
{
    TRY(spell_check_outputs(import, node, outputs));
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    return STATUS_OK;
}

static Status
spell_flex_attention(OnnxImport *import, OnnxNode *node, const char *argument, size_t count)
{
    (void)argument;
    (void)count;
    return onnx_flex_attention(import, node);
}

enum {
    EMBED_IDS,
    EMBED_SEGMENTS,
    EMBED_WORDS,
    EMBED_POSITIONS,
    EMBED_SEGMENT_TABLE,
    EMBED_GAMMA,
    EMBED_BETA,
    EMBED_MASK,
    EMBED_POSITION_IDS,
    EMBED_INPUTS
};

/* Emits the rows of the table of positions: those that position_ids name, else the first ones, one for each
 * token. */
static Status
emit_positions(OnnxImport *import, const OnnxNode *node, Slice *ret_rows)
{
    static const int64_t zero = 0;
    Slice table = spell_input(node, EMBED_POSITIONS);
    if (spell_has(node, EMBED_POSITION_IDS)) {
        return spell_pair(import, node, "Gather", table, node->inputs[EMBED_POSITION_IDS], ret_rows);
    }
    Slice rows[4] = {table};
    Attr attrs[] = {spell_int_attr("start", 1), spell_int_attr("end", 2)};
    OnnxNode length = {.type = SLICE("Shape"),
        .inputs = &node->inputs[EMBED_IDS],
        .input_count = 1,
        .attrs = attrs,
        .attr_count = COUNT_OF(attrs)};
    TRY(spell_ints(import, node, "first", &zero, 1, &rows[1]));
    TRY(onnx_emit_part(import, node, "length", &length, &rows[2]));
    TRY(spell_ints(import, node, "axes", &zero, 1, &rows[3]));
    return spell_emit(import, node, "Slice", rows, COUNT_OF(rows), ret_rows);
}

/* Emits how many tokens of each row the mask keeps; zeros without a mask. */
static Status
emit_mask_index(OnnxImport *import, const OnnxNode *node, Slice *ret_index)
{
    static const int64_t row = 1;
    Slice inputs[2] = {spell_input(node, EMBED_MASK)};
    Slice sums;
    Attr keep = spell_int_attr("keepdims", 0);
    if (inputs[0].size == 0) {
        TRY(spell_pair(import, node, "Sub", node->inputs[EMBED_IDS], node->inputs[EMBED_IDS], &inputs[0]));
    }
    TRY(spell_ints(import, node, "row", &row, 1, &inputs[1]));
    OnnxNode sum = {
        .type = SLICE("ReduceSum"), .inputs = inputs, .input_count = 2, .attrs = &keep, .attr_count = 1};
    TRY(onnx_emit_part(import, node, "ReduceSum", &sum, &sums));
    return spell_with(import, node, "Cast", sums, spell_type_attr("to", DTYPE_INT32), ret_index);
}

/* Words, positions and segments are looked up, added, and their rows normalised. */
static Status
spell_embedding(OnnxImport *import, OnnxNode *node, const char *type, size_t outputs)
{
    static const float usual_epsilon = 1e-12F;
    float epsilon = spell_float(node, "epsilon", usual_epsilon);
    Slice ends[3];
    Slice rows;
    TRY(spell_check_inputs(import, node, EMBED_SEGMENTS, EMBED_INPUTS));
    if (!spell_has(node, EMBED_WORDS) || !spell_has(node, EMBED_POSITIONS) || !spell_has(node, EMBED_GAMMA) ||
        !spell_has(node, EMBED_BETA)) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "inputs 2, 3, 5 and 6 must be present");
    }
    TRY(spell_check_outputs(import, node, outputs));
    TRY(spell_pair(import, node, "Gather", node->inputs[EMBED_WORDS], node->inputs[EMBED_IDS], &ends[2]));
    TRY(emit_positions(import, node, &rows));
    TRY(spell_pair(import, node, "Add", ends[2], rows, &ends[2]));
    if (spell_has(node, EMBED_SEGMENTS)) {
        TRY(spell_pair(import, node, "Gather", spell_input(node, EMBED_SEGMENT_TABLE),
            node->inputs[EMBED_SEGMENTS], &rows));
        TRY(spell_pair(import, node, "Add", ends[2], rows, &ends[2]));
    }
    Slice norm[] = {ends[2], node->inputs[EMBED_GAMMA], node->inputs[EMBED_BETA]};
    Attr attr = {.name = SLICE("epsilon"), .value = {.kind = ATTR_FLOAT, .value.f = epsilon}};
    OnnxNode normalise = {.type = slice_from_string(type),
        .inputs = norm,
        .input_count = COUNT_OF(norm),
        .attrs = &attr,
        .attr_count = 1};
    TRY(onnx_emit_part(import, node, type, &normalise, &ends[0]));
    TRY(emit_mask_index(import, node, &ends[1]));
    spell_outputs(node, ends, node->output_count);
    return STATUS_OK;
}

/* The node becomes one of TensorFlow's, whose attributes are set by name. */
static Status
spell_determinant(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    TRY(spell_check_inputs(import, node, inputs, inputs));
    node->type = slice_from_string(type);
    node->is_default_domain = false;
    onnx_attr_set(node, "_type_of", spell_text_attr("", node->inputs[0]).value);
    return STATUS_OK;
}

static Status
spell_reverse(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    int64_t batch = spell_int(node, "batch_axis", 1);
    int64_t time = spell_int(node, "time_axis", 0);
    TRY(spell_determinant(import, node, type, inputs));
    node->attr_count = 0;
    onnx_attr_set(node, "batch_dim", spell_int_attr("", batch).value);
    onnx_attr_set(node, "seq_dim", spell_int_attr("", time).value);
    onnx_attr_set(node, "_type_of", spell_text_attr("", node->inputs[0]).value);
    return STATUS_OK;
}

/* An activation's own attributes, in the order of activation_params. */
static const struct {
    const char *type;
    const char *names[2];
} activations[] = {
    {"Clip", {NULL, NULL}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"LeakyRelu", {"alpha", NULL}},
    {"Relu", {NULL, NULL}},
    {"Sigmoid", {NULL, NULL}},
    {"Tanh", {NULL, NULL}},
};

/* The numbers that an activation is given, in the order of its row. */
typedef struct ActivationNumbers {
    float values[2];
    size_t count;
} ActivationNumbers;

/* Makes the node its activation, of one input. */
static Status
become_activation(
    OnnxImport *import, OnnxNode *node, Slice activation, const ActivationNumbers *given, Slice input)
{
    size_t row = 0;
    while (row < COUNT_OF(activations) && !slice_equals_string(activation, activations[row].type)) {
        row++;
    }
    if (row == COUNT_OF(activations)) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "activation '%.*s' cannot be imported",
            SLICE_PRINT(slice_part(activation, 0, 64)));
    }
    spell_become(node, activations[row].type, &input, 1);
    for (size_t index = 0; index < COUNT_OF(given->values) && index < given->count; index++) {
        const char *name = activations[row].names[index];
        if (name != NULL) {
            onnx_attr_set(node, name, (AttrValue){.kind = ATTR_FLOAT, .value.f = given->values[index]});
        }
    }
    if (row == 0 && given->count == COUNT_OF(given->values)) {
        TRY(onnx_float_input(import, node, "min", 1, given->values[0]));
        TRY(onnx_float_input(import, node, "max", 2, given->values[1]));
    }
    return STATUS_OK;
}

/* Copies a node whose attributes can then be removed one by one. */
static Status
copy_node(const OnnxImport *import, const OnnxNode *node, OnnxNode *ret_copy)
{
    *ret_copy = *node;
    ret_copy->attrs = arena_alloc(import->scratch, (node->attr_count + 1) * sizeof *node->attrs);
    if (ret_copy->attrs == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    memcpy(ret_copy->attrs, node->attrs, node->attr_count * sizeof *node->attrs);
    return STATUS_OK;
}

/* A convolution, perhaps a sum with input 3, and an activation. */
static Status
spell_fused_convolution(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    Slice activation = spell_text(node, "activation");
    ActivationNumbers given = {.count = 0};
    OnnxNode convolution;
    Slice output;
    TRY(spell_check_inputs(import, node, 2, inputs));
    TRY(copy_node(import, node, &convolution));
    given.count = spell_numbers(node, "activation_params", given.values, COUNT_OF(given.values));
    convolution.type = slice_from_string(type);
    convolution.input_count = spell_has(node, 2) ? 3 : 2;
    onnx_attr_remove(&convolution, "activation");
    onnx_attr_remove(&convolution, "activation_params");
    TRY(onnx_emit_part(import, node, type, &convolution, &output));
    if (spell_has(node, inputs - 1)) {
        TRY(spell_pair(import, node, "Add", output, node->inputs[inputs - 1], &output));
    }
    if (activation.size == 0) {
        spell_become(node, "Identity", &output, 1);
        return STATUS_OK;
    }
    return become_activation(import, node, activation, &given, output);
}

/* A Gemm and an activation, whose attributes have names that begin with its own. */
static Status
spell_fused_gemm(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    static const char *const numbers[] = {"activation_alpha", "activation_beta"};
    Slice activation = spell_text(node, "activation");
    ActivationNumbers given = {.count = 0};
    OnnxNode product;
    Slice output;
    TRY(spell_check_inputs(import, node, 2, inputs));
    TRY(copy_node(import, node, &product));
    while (given.count < COUNT_OF(numbers) && onnx_attr(node, numbers[given.count]) != NULL) {
        given.values[given.count] = spell_float(node, numbers[given.count], 0);
        given.count++;
    }
    product.type = slice_from_string(type);
    onnx_attr_remove(&product, "activation");
    onnx_attr_remove(&product, "activation_alpha");
    onnx_attr_remove(&product, "activation_beta");
    onnx_attr_remove(&product, "activation_gamma");
    TRY(onnx_emit_part(import, node, type, &product, &output));
    return become_activation(import, node, activation, &given, output);
}

static const OnnxSpelling contribs[] = {
    {"Det", spell_determinant, "MatrixDeterminant", 1},
    {"ReverseSequence", spell_reverse, "ReverseSequence", 2},
    {"SimplifiedLayerNormalization", spell_simplified_norm, "RMSNormalization", 1},
    {"ai.onnx.preview::FlexAttention", spell_flex_attention, NULL, 0},
    {"com.microsoft::BiasGelu", spell_gelu, "none", 2},
    {"com.microsoft::EmbedLayerNormalization", spell_embedding, "LayerNormalization", 3},
    {"com.microsoft::FastGelu", spell_gelu, "tanh", 2},
    {"com.microsoft::FusedConv", spell_fused_convolution, "Conv", 4},
    {"com.microsoft::FusedGemm", spell_fused_gemm, "Gemm", 3},
    {"com.microsoft::FusedMatMul", spell_fused_matmul, "BatchMatMulV2", 2},
    {"com.microsoft::Gelu", spell_gelu, "none", 1},
    {"com.microsoft::QuickGelu", spell_quick_gelu, "Swish", 1},
};

const OnnxSpellings onnx_contrib_spellings = {contribs, COUNT_OF(contribs)};
