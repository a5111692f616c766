/* Operators of ai.onnx.ml that map labels: their lists become constants, which one op looks up. */
#include "gateway/formats/onnx_spell.h"

/* One kind of labels: where a LabelEncoder keeps them, and what an element becomes that is no key. */
typedef struct LabelKind {
    const char *keys;
    const char *values;
    const char *otherwise;
    AttrValue unsaid;
} LabelKind;

static const LabelKind kinds[] = {
    {"keys_strings", "values_strings", "default_string",
        {.kind = ATTR_STRING, .value.s = {.data = "_Unused", .size = 7}}},
    {"keys_int64s", "values_int64s", "default_int64", {.kind = ATTR_INT, .value.i = -1}},
    {"keys_floats", "values_floats", "default_float", {.kind = ATTR_FLOAT, .value.f = -0.0F}},
    {"keys_tensor", "values_tensor", "default_tensor", {.kind = ATTR_NONE}},
};

/* Emits a constant of a list, a number, a text or a tensor. */
static Status
emit_value(
    OnnxImport *import, const OnnxNode *node, const char *part, const AttrValue *value, Slice *ret_name)
{
    Attr attr = {.name = SLICE("value"), .value = *value};
    OnnxNode constant = {.attrs = &attr, .attr_count = 1, .pointer = node->pointer};
    TRY(onnx_part_name(import, node->name, part, &constant.name));
    *ret_name = constant.name;
    return onnx_emit_constant(import, &constant);
}

/* Emits the default of a tensor's values, which depends on their dtype. */
static Status
emit_unsaid(OnnxImport *import, const OnnxNode *node, const Tensor *values, Slice like, Slice *ret_name)
{
    if (values->dtype == DTYPE_STRING) {
        return emit_value(import, node, "default", &kinds[0].unsaid, ret_name);
    }
    float number = dtype_is_floating(values->dtype) ? kinds[2].unsaid.value.f : -1;
    return spell_number_like(import, node, "default", number, like, ret_name);
}

static Status
emit_default(OnnxImport *import, const OnnxNode *node, const LabelKind *kind, Slice values, Slice *ret_name)
{
    const AttrValue *given = onnx_attr(node, kind->otherwise);
    if (given != NULL) {
        return emit_value(import, node, "default", given, ret_name);
    }
    if (kind->unsaid.kind != ATTR_NONE) {
        return emit_value(import, node, "default", &kind->unsaid, ret_name);
    }
    return emit_unsaid(import, node, &onnx_attr(node, kind->values)->value.tensor, values, ret_name);
}

/* Makes the node a look-up of these lists. */
static Status
finish(OnnxImport *import, OnnxNode *node, const Slice *lists)
{
    Slice inputs[] = {node->inputs[0], lists[0], lists[1], lists[2]};
    (void)import;
    spell_become(node, "ai.onnx.ml::_MapLabels", inputs, COUNT_OF(inputs));
    node->is_default_domain = false;
    onnx_attr_set(node, "_type_of", spell_text_attr("", inputs[0]).value);
    return STATUS_OK;
}

static Status
spell_label_encoder(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    const LabelKind *values = NULL;
    Slice lists[3] = {SLICE(""), SLICE(""), SLICE("")};
    (void)argument;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    for (size_t index = 0; index < COUNT_OF(kinds); index++) {
        const AttrValue *keys = onnx_attr(node, kinds[index].keys);
        TRY(keys == NULL ? STATUS_OK : emit_value(import, node, "keys", keys, &lists[0]));
        values = onnx_attr(node, kinds[index].values) == NULL ? values : &kinds[index];
    }
    if (lists[0].size == 0 || values == NULL) {
        return spell_refuse(
            import, "a LabelEncoder without keys and values (of ai.onnx.ml before version 2)");
    }
    TRY(emit_value(import, node, "values", onnx_attr(node, values->values), &lists[1]));
    TRY(emit_default(import, node, values, lists[1], &lists[2]));
    return finish(import, node, lists);
}

/* Maps strings to integers, or, when a string alone is the default, integers to strings. */
static Status
spell_category_mapper(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    (void)argument;
    const AttrValue *strings = onnx_attr(node, "cats_strings");
    const AttrValue *integers = onnx_attr(node, "cats_int64s");
    Slice lists[3];
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (strings == NULL || integers == NULL) {
        return call_fail(
            import->call, STATUS_INVALID_ARGUMENT, "it has not both cats_strings and cats_int64s");
    }
    bool gives_strings =
        onnx_attr(node, kinds[0].otherwise) != NULL && onnx_attr(node, kinds[1].otherwise) == NULL;
    TRY(emit_value(import, node, "keys", gives_strings ? integers : strings, &lists[0]));
    TRY(emit_value(import, node, "values", gives_strings ? strings : integers, &lists[1]));
    TRY(emit_default(import, node, &kinds[gives_strings ? 0 : 1], lists[1], &lists[2]));
    return finish(import, node, lists);
}

static const OnnxSpelling labels[] = {
    {"ai.onnx.ml::CategoryMapper", spell_category_mapper, NULL, 1},
    {"ai.onnx.ml::LabelEncoder", spell_label_encoder, NULL, 1},
};

const OnnxSpellings onnx_label_spellings = {labels, COUNT_OF(labels)};
