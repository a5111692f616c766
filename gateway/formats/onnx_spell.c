#include "gateway/formats/onnx_spell.h"

#include <assert.h>

#include "shared/base/text.h"

Slice
spell_input(const OnnxNode *node, size_t position)
{
    return position < node->input_count ? node->inputs[position] : SLICE("");
}

bool
spell_has(const OnnxNode *node, size_t position)
{
    return spell_input(node, position).size > 0;
}

int64_t
spell_int(const OnnxNode *node, const char *name, int64_t otherwise)
{
    const AttrValue *value = onnx_attr(node, name);
    return value == NULL || value->is_list || value->kind != ATTR_INT ? otherwise : value->value.i;
}

float
spell_float(const OnnxNode *node, const char *name, float otherwise)
{
    const AttrValue *value = onnx_attr(node, name);
    return value == NULL || value->is_list || value->kind != ATTR_FLOAT ? otherwise : value->value.f;
}

Attr
spell_int_attr(const char *name, int64_t number)
{
    return (Attr){.name = slice_from_string(name), .value = {.kind = ATTR_INT, .value.i = number}};
}

Attr
spell_type_attr(const char *name, Dtype dtype)
{
    return (Attr){.name = slice_from_string(name), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
}

Attr
spell_text_attr(const char *name, Slice text)
{
    return (Attr){.name = slice_from_string(name), .value = {.kind = ATTR_STRING, .value.s = text}};
}

Status
spell_refuse(const OnnxImport *import, const char *what)
{
    return call_fail(import->call, STATUS_UNIMPLEMENTED, "%s cannot be imported", what);
}

Status
spell_check_inputs(const OnnxImport *import, const OnnxNode *node, size_t least, size_t most)
{
    for (size_t position = 0; position < least; position++) {
        if (!spell_has(node, position)) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT, "input %zu is absent", position);
        }
    }
    for (size_t position = most; position < node->input_count; position++) {
        if (spell_has(node, position)) {
            return call_fail(import->call, STATUS_UNIMPLEMENTED, "input %zu cannot be imported", position);
        }
    }
    return STATUS_OK;
}

Status
spell_check_outputs(const OnnxImport *import, const OnnxNode *node, size_t most)
{
    return node->output_count <= most ? STATUS_OK
                                      : call_fail(import->call, STATUS_UNIMPLEMENTED,
                                            "only the first %zu of its outputs can be imported", most);
}

Status
spell_emit(OnnxImport *import, const OnnxNode *whole, const char *type, Slice *inputs, size_t input_count,
    Slice *ret_name)
{
    OnnxNode part = {.type = slice_from_string(type), .inputs = inputs, .input_count = input_count};
    return onnx_emit_part(import, whole, type, &part, ret_name);
}

Status
spell_pair(
    OnnxImport *import, const OnnxNode *whole, const char *type, Slice left, Slice right, Slice *ret_name)
{
    Slice inputs[] = {left, right};
    return spell_emit(import, whole, type, inputs, 2, ret_name);
}

Status
spell_with(
    OnnxImport *import, const OnnxNode *whole, const char *type, Slice input, Attr attr, Slice *ret_name)
{
    OnnxNode part = {
        .type = slice_from_string(type), .inputs = &input, .input_count = 1, .attrs = &attr, .attr_count = 1};
    return onnx_emit_part(import, whole, type, &part, ret_name);
}

Status
spell_floats(OnnxImport *import, const OnnxNode *whole, Slice input, Slice *ret_floats)
{
    return spell_with(import, whole, "Cast", input, spell_type_attr("to", DTYPE_FLOAT32), ret_floats);
}

Status
spell_foreign(OnnxImport *import, const OnnxNode *whole, const char *part, OnnxNode *node, Slice *ret_name)
{
    TRY(onnx_part_name(import, whole->name, part, &node->name));
    if (onnx_attr(node, "_type_of") == NULL) {
        onnx_attr_set(node, "_type_of", spell_text_attr("", node->inputs[0]).value);
    }
    node->pointer = whole->pointer;
    node->is_default_domain = false;
    *ret_name = node->name;
    return onnx_emit_node(import, node);
}

Status
spell_ints(OnnxImport *import, const OnnxNode *whole, const char *part, const int64_t *values, size_t count,
    Slice *ret_name)
{
    Tensor tensor;
    int64_t total = 0;
    Shape shape = shape_vector((int64_t)count);
    TRY(builder_tensor(import->builder, DTYPE_INT64, &shape, &tensor, &total));
    if (count > 0) {
        memcpy(tensor.data, values, count * sizeof *values);
    }
    TRY(onnx_part_name(import, whole->name, part, ret_name));
    return onnx_emit_const(import, *ret_name, &tensor);
}

Status
spell_number(OnnxImport *import, const OnnxNode *whole, const char *part, float number, Slice *ret_name)
{
    Tensor tensor;
    int64_t total = 0;
    Shape scalar = shape_scalar();
    TRY(builder_tensor(import->builder, DTYPE_FLOAT32, &scalar, &tensor, &total));
    memcpy(tensor.data, &number, sizeof number);
    TRY(onnx_part_name(import, whole->name, part, ret_name));
    return onnx_emit_const(import, *ret_name, &tensor);
}

Status
spell_number_like(
    OnnxImport *import, const OnnxNode *whole, const char *part, float number, Slice like, Slice *ret_name)
{
    Slice constant;
    TRY(spell_number(import, whole, part, number, &constant));
    return spell_pair(import, whole, "CastLike", constant, like, ret_name);
}

Slice
spell_text(const OnnxNode *node, const char *name)
{
    const AttrValue *value = onnx_attr(node, name);
    return value == NULL || value->is_list || value->kind != ATTR_STRING ? SLICE("") : value->value.s;
}

size_t
spell_numbers(const OnnxNode *node, const char *name, float *ret_numbers, size_t capacity)
{
    const AttrValue *value = onnx_attr(node, name);
    size_t count =
        value == NULL || !value->is_list || value->kind != ATTR_FLOAT ? 0 : value->value.list.count;
    for (size_t index = 0; index < count && index < capacity; index++) {
        ret_numbers[index] = value->value.list.items[index].value.f;
    }
    return count;
}

Status
spell_port(OnnxImport *import, Slice name, int port, Slice *ret_endpoint)
{
    const char *text = text_format(import->builder->def->arena, "%.*s:%d", SLICE_PRINT(name), port);
    *ret_endpoint = slice_from_string(text == NULL ? "" : text);
    return text == NULL ? call_fail_memory(import->call, "nodes") : STATUS_OK;
}

void
spell_become(OnnxNode *node, const char *type, const Slice *inputs, size_t input_count)
{
    memmove(node->inputs, inputs, input_count * sizeof *inputs);
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    node->input_count = input_count;
    node->attr_count = 0;
}

void
spell_outputs(OnnxNode *node, const Slice *endpoints, size_t count)
{
    static const char *const types[] = {"Identity", "_Outputs2", "_Outputs3"};
    size_t given = count > 0 ? count : 1;
    assert(given <= COUNT_OF(types));
    spell_become(node, types[given - 1], endpoints, given);
}
