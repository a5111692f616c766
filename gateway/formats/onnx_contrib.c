/* Operators beside those of ONNX's own domain, spelled out in these; most are written into models by ONNX
 * Runtime's optimisers. The rule is its documentation of them (docs/ContribOperators.md). */
#include <assert.h>

#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

typedef struct Contrib {
    const char *type;
    Status (*spell_out)(OnnxImport *import, OnnxNode *node);
} Contrib;

static Status
refuse(const OnnxImport *import, const char *what)
{
    return call_fail(import->call, STATUS_UNIMPLEMENTED, "%s cannot be imported", what);
}

static bool
has_input(const OnnxNode *node, size_t position)
{
    return position < node->input_count && node->inputs[position].size > 0;
}

static AttrValue
text_value(const char *text)
{
    return (AttrValue){.kind = ATTR_STRING, .value.s = slice_from_string(text)};
}

static AttrValue
int_value(int64_t number)
{
    return (AttrValue){.kind = ATTR_INT, .value.i = number};
}

static int64_t
int_of(const OnnxNode *node, const char *name)
{
    const AttrValue *value = onnx_attr(node, name);
    return value == NULL || value->kind != ATTR_INT ? 0 : value->value.i;
}

static float
float_of(const OnnxNode *node, const char *name, float otherwise)
{
    const AttrValue *value = onnx_attr(node, name);
    return value == NULL || value->kind != ATTR_FLOAT ? otherwise : value->value.f;
}

static void
become(OnnxNode *node, const char *type)
{
    node->type = slice_from_string(type);
    node->is_default_domain = true;
}

/* Fails unless the node has at least `least` inputs, and none behind its first `most`. */
static Status
check_inputs(const OnnxImport *import, const OnnxNode *node, size_t least, size_t most)
{
    for (size_t position = 0; position < least; position++) {
        if (!has_input(node, position)) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT, "input %zu is absent", position);
        }
    }
    for (size_t position = most; position < node->input_count; position++) {
        if (has_input(node, position)) {
            return call_fail(import->call, STATUS_UNIMPLEMENTED, "input %zu cannot be imported", position);
        }
    }
    return STATUS_OK;
}

/* Fails for an output behind the first ones. */
static Status
check_outputs(const OnnxImport *import, const OnnxNode *node, size_t most)
{
    return node->output_count <= most ? STATUS_OK
                                      : call_fail(import->call, STATUS_UNIMPLEMENTED,
                                            "only the first %zu of its outputs can be imported", most);
}

/* Emits the sum of two endpoints as a part of the node. */
static Status
add_part(OnnxImport *import, const OnnxNode *node, const char *part, Slice left, Slice right, Slice *ret_sum)
{
    Slice inputs[2] = {left, right};
    OnnxNode sum = {.type = SLICE("Add"), .inputs = inputs, .input_count = 2};
    return onnx_emit_part(import, node, part, &sum, ret_sum);
}

/* Adds the bias, if there is one, to the input, and makes the node a Gelu of that. */
static Status
make_gelu(OnnxImport *import, OnnxNode *node, const char *approximate)
{
    TRY(check_inputs(import, node, 1, 2));
    if (has_input(node, 1)) {
        TRY(add_part(import, node, "biased", node->inputs[0], node->inputs[1], &node->inputs[0]));
    }
    node->input_count = 1;
    onnx_attr_set(node, "approximate", text_value(approximate));
    become(node, "Gelu");
    return STATUS_OK;
}

static Status
spell_gelu(OnnxImport *import, OnnxNode *node)
{
    return make_gelu(import, node, "none");
}

static Status
spell_fast_gelu(OnnxImport *import, OnnxNode *node)
{
    return make_gelu(import, node, "tanh");
}

static Status
spell_quick_gelu(OnnxImport *import, OnnxNode *node)
{
    static const float alpha = 1.702F;
    TRY(check_inputs(import, node, 1, 1));
    onnx_attr_set(node, "alpha", (AttrValue){.kind = ATTR_FLOAT, .value.f = float_of(node, "alpha", alpha)});
    become(node, "Swish");
    return STATUS_OK;
}

static Status
spell_fused_matmul(OnnxImport *import, OnnxNode *node)
{
    Slice name;
    float alpha = float_of(node, "alpha", 1);
    TRY(check_inputs(import, node, 2, 2));
    if (int_of(node, "transBatchA") != 0 || int_of(node, "transBatchB") != 0) {
        return refuse(import, "transBatchA or transBatchB");
    }
    Attr attrs[] = {
        {.name = SLICE("_type_of"), .value = {.kind = ATTR_STRING, .value.s = node->inputs[0]}},
        {.name = SLICE("adj_x"), .value = {.kind = ATTR_BOOL, .value.b = int_of(node, "transA") != 0}},
        {.name = SLICE("adj_y"), .value = {.kind = ATTR_BOOL, .value.b = int_of(node, "transB") != 0}},
    };
    OnnxNode product = {.type = SLICE("BatchMatMulV2"),
        .inputs = node->inputs,
        .input_count = 2,
        .attrs = attrs,
        .attr_count = COUNT_OF(attrs),
        .pointer = node->pointer};
    TRY(onnx_part_name(import, node->name, "product", &name));
    product.name = name;
    TRY(onnx_emit_node(import, &product));
    node->inputs[0] = name;
    node->input_count = 1;
    node->attr_count = 0;
    become(node, alpha == 1 ? "Identity" : "Mul");
    return alpha == 1 ? STATUS_OK : onnx_float_input(import, node, "alpha", 1, alpha);
}

/* SimplifiedLayerNormalization stands in ONNX's own domain, in which ONNX does not have it. */
static Status
spell_simplified_norm(OnnxImport *import, OnnxNode *node)
{
    TRY(check_outputs(import, node, 1));
    become(node, "RMSNormalization");
    return STATUS_OK;
}

static Status
spell_rotary(OnnxImport *import, OnnxNode *node)
{
    TRY(check_inputs(import, node, 4, 4));
    if (int_of(node, "is_packed_batching") != 0 || float_of(node, "scale", 1) != 1) {
        return refuse(import, "packed batching or a scale");
    }
    Slice positions = node->inputs[1];
    node->inputs[1] = node->inputs[2];
    node->inputs[2] = node->inputs[3];
    node->inputs[3] = positions;
    onnx_attr_remove(node, "is_packed_batching");
    onnx_attr_remove(node, "scale");
    become(node, "RotaryEmbedding");
    return STATUS_OK;
}

enum { MHA_QUERY, MHA_KEY, MHA_VALUE, MHA_BIAS, MHA_MASK, MHA_ATTENTION_BIAS, MHA_PAST_KEY, MHA_PAST_VALUE };

/* Adds to query, key and value a third of the bias each. */
static Status
add_biases(OnnxImport *import, OnnxNode *node)
{
    static const char *const parts[] = {"query", "key", "value"};
    static const char *const ports[] = {"", ":1", ":2"};
    Slice split;
    Attr count = {.name = SLICE("num_outputs"), .value = int_value(3)};
    OnnxNode thirds = {.type = SLICE("Split"),
        .inputs = &node->inputs[MHA_BIAS],
        .input_count = 1,
        .attrs = &count,
        .attr_count = 1};
    TRY(onnx_emit_part(import, node, "biases", &thirds, &split));
    for (size_t index = 0; index < COUNT_OF(parts); index++) {
        const char *bias =
            text_format(import->builder->def->arena, "%.*s%s", SLICE_PRINT(split), ports[index]);
        if (bias == NULL) {
            return call_fail_memory(import->call, "names");
        }
        TRY(add_part(
            import, node, parts[index], node->inputs[index], slice_from_string(bias), &node->inputs[index]));
    }
    return STATUS_OK;
}

static Status
set_heads(OnnxImport *import, OnnxNode *node)
{
    int64_t heads = int_of(node, "num_heads");
    float scale = float_of(node, "scale", 0);
    bool is_causal = int_of(node, "unidirectional") != 0;
    if (heads < 1) {
        return call_fail(
            import->call, STATUS_INVALID_ARGUMENT, "num_heads is %lld, not at least 1", (long long)heads);
    }
    node->attr_count = 0;
    onnx_attr_set(node, "q_num_heads", int_value(heads));
    onnx_attr_set(node, "kv_num_heads", int_value(heads));
    onnx_attr_set(node, "is_causal", int_value(is_causal));
    if (scale != 0) {
        onnx_attr_set(node, "scale", (AttrValue){.kind = ATTR_FLOAT, .value.f = scale});
    }
    return STATUS_OK;
}

/* Query, key and value are given apart; the mask by key_padding_mask, whose form its rank tells, is left
 * out. */
static Status
spell_multi_head_attention(OnnxImport *import, OnnxNode *node)
{
    if (!has_input(node, MHA_KEY) || !has_input(node, MHA_VALUE)) {
        return refuse(import, "a query that holds keys and values");
    }
    if (has_input(node, MHA_MASK)) {
        return refuse(import, "a key_padding_mask");
    }
    TRY(check_inputs(import, node, 3, MHA_PAST_VALUE + 1));
    TRY(check_outputs(import, node, 3));
    TRY(has_input(node, MHA_BIAS) ? add_biases(import, node) : STATUS_OK);
    TRY(set_heads(import, node));
    size_t kept = MHA_BIAS;
    for (size_t position = MHA_ATTENTION_BIAS; position < node->input_count; position++) {
        node->inputs[kept++] = node->inputs[position];
    }
    node->input_count = node->input_count > MHA_BIAS ? kept : node->input_count;
    become(node, "Attention");
    return STATUS_OK;
}

static const Contrib contribs[] = {
    {"SimplifiedLayerNormalization", spell_simplified_norm},
    {"ai.onnx.preview::FlexAttention", onnx_flex_attention},
    {"com.microsoft::BiasGelu", spell_gelu},
    {"com.microsoft::FastGelu", spell_fast_gelu},
    {"com.microsoft::FusedMatMul", spell_fused_matmul},
    {"com.microsoft::Gelu", spell_gelu},
    {"com.microsoft::MultiHeadAttention", spell_multi_head_attention},
    {"com.microsoft::QuickGelu", spell_quick_gelu},
    {"com.microsoft::RotaryEmbedding", spell_rotary},
};

Status
onnx_contrib(OnnxImport *import, OnnxNode *node)
{
    for (size_t index = 0; index < COUNT_OF(contribs); index++) {
        if (slice_equals_string(node->type, contribs[index].type)) {
            return contribs[index].spell_out(import, node);
        }
    }
    return STATUS_OK;
}
