/* ONNX Runtime's attentions of several heads, spelled out as ONNX's Attention. A mask adds mask_filter_value
 * to the scores of the keys that it leaves out, as in ONNX Runtime. */
#include "gateway/formats/onnx_spell.h"

/* The inputs and attributes of the Attention that is emitted last. */
typedef struct Heads {
    Slice query;
    Slice key;
    Slice value;
    Slice mask; /* of keys, in one of ONNX Runtime's forms */
    Slice bias; /* added to the scores */
    Slice past_key;
    Slice past_value;
    Attr attrs[4];
    size_t attr_count;
} Heads;

static Status
read_heads(const OnnxImport *import, const OnnxNode *node, Heads *heads)
{
    int64_t count = spell_int(node, "num_heads", 0);
    float scale = spell_float(node, "scale", 0);
    if (count < 1) {
        return call_fail(
            import->call, STATUS_INVALID_ARGUMENT, "num_heads is %lld, not at least 1", (long long)count);
    }
    heads->attrs[heads->attr_count++] = spell_int_attr("q_num_heads", count);
    heads->attrs[heads->attr_count++] = spell_int_attr("kv_num_heads", count);
    heads->attrs[heads->attr_count++] =
        spell_int_attr("is_causal", spell_int(node, "unidirectional", 0) != 0);
    if (scale != 0) {
        heads->attrs[heads->attr_count++] =
            (Attr){.name = SLICE("scale"), .value = {.kind = ATTR_FLOAT, .value.f = scale}};
    }
    return STATUS_OK;
}

/* Emits what the mask adds to the scores, and adds the bias. */
static Status
emit_mask(OnnxImport *import, const OnnxNode *node, Heads *heads)
{
    static const float usual_filter = -10000;
    float filter = spell_float(node, "mask_filter_value", usual_filter);
    Slice inputs[] = {heads->mask, heads->query, heads->key, heads->past_key};
    Attr attrs[2] = {{.name = SLICE("mask_filter_value"), .value = {.kind = ATTR_FLOAT, .value.f = filter}}};
    OnnxNode mask = {.type = SLICE("com.microsoft::_KeyMask"),
        .inputs = inputs,
        .input_count = heads->past_key.size > 0 ? 4 : 3,
        .attrs = attrs,
        .attr_count = 1};
    Slice added;
    if (heads->mask.size == 0) {
        return STATUS_OK;
    }
    TRY(spell_foreign(import, node, "mask", &mask, &added));
    if (heads->bias.size == 0) {
        heads->bias = added;
        return STATUS_OK;
    }
    return spell_pair(import, node, "Add", heads->bias, added, &heads->bias);
}

/* Turns the node into an Attention of these. */
static Status
attend(OnnxImport *import, OnnxNode *node, Heads *heads)
{
    TRY(emit_mask(import, node, heads));
    Slice inputs[] = {
        heads->query, heads->key, heads->value, heads->bias, heads->past_key, heads->past_value};
    size_t count = heads->past_key.size > 0 ? 6 : heads->bias.size > 0 ? 4 : 3;
    Slice *room = arena_alloc(import->scratch, (COUNT_OF(inputs) + ONNX_NODE_ROOM) * sizeof *room);
    Attr *attrs = arena_alloc(import->scratch, (COUNT_OF(heads->attrs) + ONNX_NODE_ROOM) * sizeof *attrs);
    if (room == NULL || attrs == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    memcpy(attrs, heads->attrs, sizeof heads->attrs);
    node->inputs = room;
    node->attrs = attrs;
    spell_become(node, "Attention", inputs, count);
    node->attr_count = heads->attr_count;
    return STATUS_OK;
}

/* Cuts a tensor into equal parts, or into parts of these sizes, along an axis. */
static Status
emit_parts(OnnxImport *import, const OnnxNode *node, const char *part, Slice whole, const int64_t *sizes,
    int64_t axis, size_t count, Slice *ret_parts)
{
    Slice inputs[2] = {whole};
    Attr attrs[] = {spell_int_attr("axis", axis), spell_int_attr("num_outputs", (int64_t)count)};
    OnnxNode split = {
        .type = SLICE("Split"), .inputs = inputs, .input_count = 1, .attrs = attrs, .attr_count = 2};
    if (sizes != NULL) {
        TRY(spell_ints(import, node, "sizes", sizes, count, &inputs[1]));
        split.input_count = 2;
    }
    TRY(onnx_emit_part(import, node, part, &split, &ret_parts[0]));
    for (size_t index = 1; index < count; index++) {
        TRY(spell_port(import, ret_parts[0], (int)index, &ret_parts[index]));
    }
    return STATUS_OK;
}

/* Cuts [batch, length, heads, count, size] into `count` tensors of [batch, length, heads × size]. */
static Status
unpack(OnnxImport *import, const OnnxNode *node, Slice packed, size_t count, Slice *ret_parts)
{
    static const int64_t joined[] = {0, 0, -1};
    enum { PACKED_AXIS = 3 };
    Slice shape;
    TRY(emit_parts(import, node, "packed", packed, NULL, PACKED_AXIS, count, ret_parts));
    TRY(spell_ints(import, node, "joined", joined, COUNT_OF(joined), &shape));
    for (size_t index = 0; index < count; index++) {
        TRY(spell_pair(import, node, "Reshape", ret_parts[index], shape, &ret_parts[index]));
    }
    return STATUS_OK;
}

enum {
    MHA_QUERY,
    MHA_KEY,
    MHA_VALUE,
    MHA_BIAS,
    MHA_MASK,
    MHA_ATTENTION_BIAS,
    MHA_PAST_KEY,
    MHA_PAST_VALUE,
    MHA_INPUTS
};

/* Adds to query, key and value a third of the bias each. */
static Status
add_biases(OnnxImport *import, const OnnxNode *node, Slice *three)
{
    Slice thirds[3];
    TRY(emit_parts(import, node, "biases", node->inputs[MHA_BIAS], NULL, 0, COUNT_OF(thirds), thirds));
    for (size_t index = 0; index < COUNT_OF(thirds); index++) {
        TRY(spell_pair(import, node, "Add", three[index], thirds[index], &three[index]));
    }
    return STATUS_OK;
}

static Status
spell_multi_head_attention(OnnxImport *import, OnnxNode *node, const char *argument, size_t outputs)
{
    (void)argument;
    Slice three[3] = {spell_input(node, MHA_QUERY), spell_input(node, MHA_KEY), spell_input(node, MHA_VALUE)};
    Heads heads = {.mask = spell_input(node, MHA_MASK),
        .bias = spell_input(node, MHA_ATTENTION_BIAS),
        .past_key = spell_input(node, MHA_PAST_KEY),
        .past_value = spell_input(node, MHA_PAST_VALUE)};
    TRY(spell_check_inputs(import, node, 1, MHA_INPUTS));
    TRY(spell_check_outputs(import, node, outputs));
    TRY(read_heads(import, node, &heads));
    if (three[MHA_KEY].size == 0) {
        TRY(unpack(import, node, three[MHA_QUERY], 3, three));
    } else if (three[MHA_VALUE].size == 0) {
        TRY(unpack(import, node, three[MHA_KEY], 2, &three[MHA_KEY]));
    }
    TRY(spell_has(node, MHA_BIAS) ? add_biases(import, node, three) : STATUS_OK);
    heads.query = three[MHA_QUERY];
    heads.key = three[MHA_KEY];
    heads.value = three[MHA_VALUE];
    return attend(import, node, &heads);
}

/* The inputs of an Attention whose projections are its own. */
typedef struct Projected {
    Slice sums; /* of queries, keys and values, side by side */
    Slice mask;
    Slice past; /* keys, then values */
    Slice bias; /* added to the scores */
} Projected;

static Status
emit_halves(OnnxImport *import, const OnnxNode *node, Slice past, Slice *ret_halves)
{
    static const int64_t first = 0;
    Slice axes;
    TRY(emit_parts(import, node, "past", past, NULL, 0, 2, ret_halves));
    TRY(spell_ints(import, node, "first", &first, 1, &axes));
    for (size_t index = 0; index < 2; index++) {
        TRY(spell_pair(import, node, "Squeeze", ret_halves[index], axes, &ret_halves[index]));
    }
    return STATUS_OK;
}

/* Emits the Attention itself, and hands on its output and the keys and values that it has seen. */
static Status
give_present(OnnxImport *import, OnnxNode *node)
{
    static const int64_t first = 0;
    OnnxNode attention = *node;
    Slice ends[2];
    Slice present[2];
    Slice axes;
    Attr attrs[] = {spell_int_attr("axis", 0), spell_int_attr("N", 2)};
    OnnxNode concat = {
        .type = SLICE("Concat"), .inputs = present, .input_count = 2, .attrs = attrs, .attr_count = 2};
    TRY(onnx_emit_part(import, node, "attention", &attention, &ends[0]));
    TRY(spell_ints(import, node, "front", &first, 1, &axes));
    for (int index = 0; index < 2; index++) {
        TRY(spell_port(import, ends[0], 1 + index, &present[index]));
        TRY(spell_pair(import, node, "Unsqueeze", present[index], axes, &present[index]));
    }
    TRY(onnx_emit_part(import, node, "present", &concat, &ends[1]));
    spell_outputs(node, ends, 2);
    return STATUS_OK;
}

static Status
attend_projected(OnnxImport *import, OnnxNode *node, const Projected *projected)
{
    Slice three[3];
    Slice halves[2] = {SLICE(""), SLICE("")};
    int64_t sizes[3] = {0};
    const AttrValue *given = onnx_attr(node, "qkv_hidden_sizes");
    bool has_sizes = given != NULL && given->is_list && given->kind == ATTR_INT &&
                     given->value.list.count == COUNT_OF(sizes);
    Heads heads = {.mask = projected->mask, .bias = projected->bias};
    TRY(read_heads(import, node, &heads));
    if (spell_int(node, "do_rotary", 0) != 0 || spell_int(node, "past_present_share_buffer", 0) != 0) {
        return spell_refuse(import, "do_rotary or past_present_share_buffer");
    }
    for (size_t index = 0; has_sizes && index < COUNT_OF(sizes); index++) {
        sizes[index] = given->value.list.items[index].value.i;
    }
    TRY(emit_parts(
        import, node, "projections", projected->sums, has_sizes ? sizes : NULL, -1, COUNT_OF(three), three));
    TRY(projected->past.size > 0 ? emit_halves(import, node, projected->past, halves) : STATUS_OK);
    heads.query = three[0];
    heads.key = three[1];
    heads.value = three[2];
    heads.past_key = halves[0];
    heads.past_value = halves[1];
    TRY(attend(import, node, &heads));
    return node->output_count > 1 ? give_present(import, node) : STATUS_OK;
}

static Status
spell_attention(OnnxImport *import, OnnxNode *node, const char *argument, size_t outputs)
{
    (void)argument;
    enum { INPUT, WEIGHTS, BIAS, MASK, PAST, ATTENTION_BIAS, ALL };
    Projected projected = {.mask = spell_input(node, MASK),
        .past = spell_input(node, PAST),
        .bias = spell_input(node, ATTENTION_BIAS)};
    TRY(spell_check_inputs(import, node, BIAS, ALL));
    TRY(spell_check_outputs(import, node, outputs));
    TRY(spell_pair(import, node, "MatMul", node->inputs[INPUT], node->inputs[WEIGHTS], &projected.sums));
    if (spell_has(node, BIAS)) {
        TRY(spell_pair(import, node, "Add", projected.sums, node->inputs[BIAS], &projected.sums));
    }
    return attend_projected(import, node, &projected);
}

/* QAttention multiplies integers to project its input, and scales their sums. */
static Status
spell_quantised_attention(OnnxImport *import, OnnxNode *node, const char *argument, size_t outputs)
{
    (void)argument;
    enum { INPUT, WEIGHTS, BIAS, INPUT_SCALE, WEIGHT_SCALE, MASK, INPUT_ZERO, WEIGHT_ZERO, PAST, ALL };
    Projected projected = {
        .mask = spell_input(node, MASK), .past = spell_input(node, PAST), .bias = SLICE("")};
    TRY(spell_check_inputs(import, node, MASK, ALL));
    TRY(spell_check_outputs(import, node, outputs));
    Slice factors[] = {node->inputs[INPUT], node->inputs[WEIGHTS], spell_input(node, INPUT_ZERO),
        spell_input(node, WEIGHT_ZERO)};
    Slice scale;
    Slice *sums = &projected.sums;
    TRY(spell_emit(import, node, "MatMulInteger", factors, COUNT_OF(factors), sums));
    TRY(spell_pair(import, node, "Mul", node->inputs[INPUT_SCALE], node->inputs[WEIGHT_SCALE], &scale));
    TRY(spell_pair(import, node, "CastLike", *sums, scale, sums));
    TRY(spell_pair(import, node, "Mul", *sums, scale, sums));
    TRY(spell_pair(import, node, "Add", *sums, node->inputs[BIAS], sums));
    return attend_projected(import, node, &projected);
}

static Status
spell_rotary(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (spell_int(node, "is_packed_batching", 0) != 0 || spell_float(node, "scale", 1) != 1) {
        return spell_refuse(import, "packed batching or a scale");
    }
    Slice positions = node->inputs[1];
    node->inputs[1] = node->inputs[2];
    node->inputs[2] = node->inputs[3];
    node->inputs[3] = positions;
    onnx_attr_remove(node, "is_packed_batching");
    onnx_attr_remove(node, "scale");
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    return STATUS_OK;
}

static const OnnxSpelling attentions[] = {
    {"com.microsoft::Attention", spell_attention, NULL, 2},
    {"com.microsoft::MultiHeadAttention", spell_multi_head_attention, NULL, 3},
    {"com.microsoft::QAttention", spell_quantised_attention, NULL, 2},
    {"com.microsoft::RotaryEmbedding", spell_rotary, "RotaryEmbedding", 4},
};

const OnnxSpellings onnx_attention_spellings = {attentions, COUNT_OF(attentions)};
