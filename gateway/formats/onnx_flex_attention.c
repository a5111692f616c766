/* FlexAttention of ai.onnx.preview, spelled out: its modifiers are functions, which are called between the
 * two halves of an Attention.
 *
 *     scores  = Attention(Q, K, V)'s output of products
 *     changed = score_mod(scores)
 *     Y       = Attention(Q, K, V, mask = changed) with a scale of 0, so that the mask is all of the scores
 *
 * With a prob_mod the weights are the output of that Attention, and the changed ones are multiplied by V,
 * after the heads of the query that share a head of V have been laid one behind the other:
 *
 *     Y = Reshape(Reshape(prob_mod(weights), [batch, head of V, -1, key]) × V, [batch, head, query, -1]) */
#include <assert.h>

#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

enum { QUERY, KEY, VALUE, OWN_INPUTS, MASK = OWN_INPUTS, ATTENTION_INPUTS };
enum { PRODUCTS = 0, WEIGHTS = 3 }; /* of qk_matmul_output_mode */

typedef struct Flex {
    OnnxImport *import;
    OnnxNode *node;
    Slice score_mod; /* names of functions; "": none */
    Slice prob_mod;
    Attr scale; /* without a name: none is given */
} Flex;

static Attr
int_attr(const char *name, int64_t number)
{
    return (Attr){.name = slice_from_string(name), .value = {.kind = ATTR_INT, .value.i = number}};
}

static Slice
take_function(OnnxNode *node, const char *name)
{
    const AttrValue *value = onnx_attr(node, name);
    Slice function = value == NULL || value->kind != ATTR_FUNCTION ? SLICE("") : value->value.function.name;
    onnx_attr_remove(node, name);
    return function;
}

/* Emits an Attention that gives out its scores; returns their endpoint. */
static Status
emit_attention(Flex *flex, const char *part, Slice mask, int64_t mode, Slice *ret_scores)
{
    Slice inputs[ATTENTION_INPUTS] = {
        flex->node->inputs[QUERY], flex->node->inputs[KEY], flex->node->inputs[VALUE], mask};
    Attr attrs[3] = {int_attr("score_outputs", 1), int_attr("qk_matmul_output_mode", mode), flex->scale};
    Slice name;
    if (mask.size > 0) {
        attrs[2] = (Attr){.name = SLICE("scale"), .value = {.kind = ATTR_FLOAT, .value.f = 0}};
    }
    OnnxNode attention = {.type = SLICE("Attention"),
        .inputs = inputs,
        .input_count = mask.size > 0 ? ATTENTION_INPUTS : OWN_INPUTS,
        .attrs = attrs,
        .attr_count = attrs[2].name.size > 0 ? 3 : 2};
    TRY(onnx_emit_part(flex->import, flex->node, part, &attention, &name));
    const char *text = text_format(flex->import->builder->def->arena, "%.*s:3", SLICE_PRINT(name));
    *ret_scores = slice_from_string(text);
    return text == NULL ? call_fail_memory(flex->import->call, "names") : STATUS_OK;
}

/* Emits a call of a modifier, which takes what it is to change, and what it uses from around the node. */
static Status
emit_call(Flex *flex, const char *part, Slice function, Slice scores, Slice *ret_changed)
{
    OnnxNode *node = flex->node;
    size_t captured = node->input_count - OWN_INPUTS;
    Slice *inputs = arena_alloc(flex->import->scratch, (captured + 1) * sizeof *inputs);
    if (inputs == NULL) {
        return call_fail_memory(flex->import->call, "nodes");
    }
    inputs[0] = scores;
    memcpy(inputs + 1, node->inputs + OWN_INPUTS, captured * sizeof *inputs);
    OnnxNode call = {
        .type = function, .inputs = inputs, .input_count = captured + 1, .pointer = node->pointer};
    TRY(onnx_part_name(flex->import, node->name, part, &call.name));
    *ret_changed = call.name;
    return onnx_emit_node(flex->import, &call);
}

/* Emits the dimensions of an endpoint from `first` to before `end`. */
static Status
emit_dimensions(Flex *flex, const char *part, Slice of, int first, int end, Slice *ret_dimensions)
{
    Attr attrs[] = {int_attr("start", first), int_attr("end", end)};
    OnnxNode shape = {
        .type = SLICE("Shape"), .inputs = &of, .input_count = 1, .attrs = attrs, .attr_count = 2};
    return onnx_emit_part(flex->import, flex->node, part, &shape, ret_dimensions);
}

static Status
emit_join(Flex *flex, const char *part, Slice *inputs, size_t count, Slice *ret_joined)
{
    Attr attrs[] = {int_attr("axis", 0), int_attr("N", (int64_t)count)};
    OnnxNode concat = {
        .type = SLICE("Concat"), .inputs = inputs, .input_count = count, .attrs = attrs, .attr_count = 2};
    return onnx_emit_part(flex->import, flex->node, part, &concat, ret_joined);
}

static Status
emit_rest(Flex *flex, Slice *ret_rest)
{
    static const int64_t rest = -1;
    Shape one = shape_vector(1);
    Tensor tensor;
    int64_t count = 0;
    TRY(builder_tensor(flex->import->builder, DTYPE_INT64, &one, &tensor, &count));
    memcpy(tensor.data, &rest, sizeof rest);
    TRY(onnx_part_name(flex->import, flex->node->name, "rest", ret_rest));
    return onnx_emit_const(flex->import, *ret_rest, &tensor);
}

/* Makes the node the product of the changed weights and the values. */
static Status
weigh_values(Flex *flex, Slice weights)
{
    OnnxNode *node = flex->node;
    Slice heads[3];
    Slice whole[2];
    Slice grouped[2] = {weights};
    Slice factors[2] = {{0}, node->inputs[VALUE]};
    OnnxNode reshape = {.type = SLICE("Reshape"), .inputs = grouped, .input_count = 2};
    OnnxNode product = {.type = SLICE("MatMul"), .inputs = factors, .input_count = 2};
    TRY(emit_rest(flex, &heads[1]));
    whole[1] = heads[1];
    TRY(emit_dimensions(flex, "heads", node->inputs[VALUE], 0, 2, &heads[0]));
    TRY(emit_dimensions(flex, "keys", node->inputs[VALUE], 2, 3, &heads[2]));
    TRY(emit_dimensions(flex, "queries", node->inputs[QUERY], 0, 3, &whole[0]));
    TRY(emit_join(flex, "grouped_shape", heads, COUNT_OF(heads), &grouped[1]));
    TRY(onnx_emit_part(flex->import, node, "grouped", &reshape, &factors[0]));
    TRY(onnx_emit_part(flex->import, node, "product", &product, &node->inputs[0]));
    TRY(emit_join(flex, "shape", whole, COUNT_OF(whole), &node->inputs[1]));
    node->type = SLICE("Reshape");
    node->input_count = 2;
    node->attr_count = 0;
    return STATUS_OK;
}

/* Makes the node the Attention of the changed scores. */
static void
attend_by_mask(Flex *flex, Slice mask)
{
    OnnxNode *node = flex->node;
    node->inputs[MASK] = mask;
    node->input_count = ATTENTION_INPUTS;
    onnx_attr_set(node, "scale", (AttrValue){.kind = ATTR_FLOAT, .value.f = 0});
}

static Status
change_scores(Flex *flex)
{
    OnnxNode *node = flex->node;
    Slice scores;
    Slice changed = SLICE("");
    if (flex->score_mod.size > 0) {
        TRY(emit_attention(flex, "scores", SLICE(""), PRODUCTS, &scores));
        TRY(emit_call(flex, "score_mod", flex->score_mod, scores, &changed));
    }
    if (flex->prob_mod.size > 0) {
        Slice weights;
        TRY(emit_attention(flex, "weights", changed, WEIGHTS, &weights));
        TRY(emit_call(flex, "prob_mod", flex->prob_mod, weights, &changed));
        return weigh_values(flex, changed);
    }
    if (flex->score_mod.size > 0) {
        attend_by_mask(flex, changed);
    } else {
        node->input_count = OWN_INPUTS;
    }
    return STATUS_OK;
}

Status
onnx_flex_attention(OnnxImport *import, OnnxNode *node)
{
    Flex flex = {.import = import,
        .node = node,
        .score_mod = take_function(node, "score_mod"),
        .prob_mod = take_function(node, "prob_mod")};
    const AttrValue *scale = onnx_attr(node, "scale");
    if (node->input_count < OWN_INPUTS) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "has %zu inputs, not 3", node->input_count);
    }
    if (scale != NULL) {
        flex.scale = (Attr){.name = SLICE("scale"), .value = *scale};
    }
    onnx_attr_remove(node, "_captures");
    node->type = SLICE("Attention");
    node->is_default_domain = true;
    return change_scores(&flex);
}
