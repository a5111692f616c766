#include <assert.h>

#include "gateway/formats/onnx_import.h"

#include "shared/base/text.h"

AttrValue *
onnx_attr(const OnnxNode *node, const char *name)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equals_string(node->attrs[index].name, name)) {
            return &node->attrs[index].value;
        }
    }
    return NULL;
}

void
onnx_attr_remove(OnnxNode *node, const char *name)
{
    size_t kept = 0;
    for (size_t index = 0; index < node->attr_count; index++) {
        if (!slice_equals_string(node->attrs[index].name, name)) {
            node->attrs[kept++] = node->attrs[index];
        }
    }
    node->attr_count = kept;
}

void
onnx_attr_set(OnnxNode *node, const char *name, AttrValue value)
{
    AttrValue *present = onnx_attr(node, name);
    if (present != NULL) {
        *present = value;
        return;
    }
    node->attrs[node->attr_count++] = (Attr){.name = slice_from_string(name), .value = value};
}

/* Reads the numbers of `floats` (field 7) or `ints` (field 8) as attribute values. */
static Status
read_numbers(OnnxImport *import, Slice bytes, AttrKind kind, AttrValue *ret_value)
{
    uint32_t wanted = kind == ATTR_FLOAT ? 7 : 8;
    ProtobufWire wire = kind == ATTR_FLOAT ? PROTOBUF_FIXED32 : PROTOBUF_VARINT;
    size_t mark = builder_mark(import->builder);
    ProtobufReader reader = protobuf_reader(bytes);
    ProtobufField field;
    while (protobuf_next(&reader, &field)) {
        ProtobufNumbers numbers;
        if (field.number != wanted || !protobuf_numbers(&field, wire, &numbers)) {
            continue;
        }
        uint64_t number = 0;
        while (protobuf_numbers_next(&numbers, &number)) {
            AttrValue item = {.kind = kind};
            if (kind == ATTR_FLOAT) {
                item.value.f = protobuf_float(number);
            } else {
                item.value.i = (int64_t)number;
            }
            TRY(builder_push(import->builder, &item, sizeof item));
        }
        if (numbers.reader.fault != NULL) {
            return call_fail(
                import->call, STATUS_INVALID_ARGUMENT, "a list is damaged: %s", numbers.reader.fault);
        }
    }
    *ret_value = (AttrValue){.kind = kind, .is_list = true};
    return BUILDER_TAKE(import->builder, mark, &ret_value->value.list.items, &ret_value->value.list.count);
}

static Status
read_strings(OnnxImport *import, const SliceList *strings, AttrValue *ret_value)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, strings->count, sizeof(AttrValue), &memory));
    AttrValue *items = memory;
    for (size_t index = 0; index < strings->count; index++) {
        items[index] = (AttrValue){.kind = ATTR_STRING, .value.s = strings->items[index]};
    }
    *ret_value = (AttrValue){
        .kind = ATTR_STRING, .is_list = true, .value.list = {.count = strings->count, .items = items}};
    return STATUS_OK;
}

/* Visits the numbers of `floats` or `ints`: writes them as float32 or int64 unless `numbers` is NULL, and
 * counts them. */
static Status
unpack_numbers(OnnxImport *import, Slice bytes, AttrKind kind, void *numbers, size_t *ret_count)
{
    uint32_t wanted = kind == ATTR_FLOAT ? 7 : 8;
    ProtobufWire wire = kind == ATTR_FLOAT ? PROTOBUF_FIXED32 : PROTOBUF_VARINT;
    ProtobufReader reader = protobuf_reader(bytes);
    ProtobufField field;
    *ret_count = 0;
    while (protobuf_next(&reader, &field)) {
        ProtobufNumbers packed;
        if (field.number != wanted || !protobuf_numbers(&field, wire, &packed)) {
            continue;
        }
        uint64_t number = 0;
        for (; protobuf_numbers_next(&packed, &number); (*ret_count)++) {
            if (numbers != NULL && kind == ATTR_FLOAT) {
                ((float *)numbers)[*ret_count] = protobuf_float(number);
            } else if (numbers != NULL) {
                ((int64_t *)numbers)[*ret_count] = (int64_t)number;
            }
        }
        if (packed.reader.fault != NULL) {
            return call_fail(
                import->call, STATUS_INVALID_ARGUMENT, "a list is damaged: %s", packed.reader.fault);
        }
    }
    return STATUS_OK;
}

Status
onnx_read_packed(OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, AttrValue *ret_value)
{
    int64_t type = onnx_attribute_type(proto);
    AttrKind kind = type == ONNX_FLOATS ? ATTR_FLOAT : ATTR_INT;
    size_t count = 0;
    if (type != ONNX_FLOATS && type != ONNX_INTS) {
        return onnx_read_value(import, bytes, proto, ret_value);
    }
    TRY(unpack_numbers(import, bytes, kind, NULL, &count));
    void *numbers =
        arena_alloc(import->scratch, (count + 1) * (kind == ATTR_FLOAT ? sizeof(float) : sizeof(int64_t)));
    if (numbers == NULL) {
        return call_fail_memory(import->call, "a list");
    }
    TRY(unpack_numbers(import, bytes, kind, numbers, &count));
    *ret_value = (AttrValue){.kind = ATTR_TENSOR,
        .value.tensor = {.dtype = kind == ATTR_FLOAT ? DTYPE_FLOAT32 : DTYPE_INT64,
            .shape = shape_vector((int64_t)count),
            .data = numbers}};
    return STATUS_OK;
}

int64_t
onnx_attribute_type(const OnnxAttributeProto *proto)
{
    if (proto->type != ONNX_UNDEFINED) {
        return proto->type;
    }
    if (proto->tensor.data != NULL) {
        return ONNX_TENSOR;
    }
    if (proto->s.data != NULL) {
        return ONNX_STRING;
    }
    return proto->strings.count > 0 ? ONNX_STRINGS : ONNX_INTS;
}

bool
onnx_names_dtype(Slice name)
{
    return slice_equals_string(name, "to") || slice_equals_string(name, "dtype") ||
           slice_equals_string(name, "output_dtype") || slice_equals_string(name, "output_datatype");
}

static Status
read_int(OnnxImport *import, const OnnxAttributeProto *proto, AttrValue *ret_value)
{
    if (!onnx_names_dtype(proto->name)) {
        *ret_value = (AttrValue){.kind = ATTR_INT, .value.i = proto->i};
        return STATUS_OK;
    }
    *ret_value = (AttrValue){.kind = ATTR_TYPE};
    return onnx_dtype(import, proto->i, proto->name, &ret_value->value.type);
}

Status
onnx_read_value(OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, AttrValue *ret_value)
{
    switch (onnx_attribute_type(proto)) {
    case ONNX_FLOAT:
        *ret_value = (AttrValue){.kind = ATTR_FLOAT, .value.f = proto->f};
        return STATUS_OK;
    case ONNX_INT:
        return read_int(import, proto, ret_value);
    case ONNX_STRING:
        *ret_value = (AttrValue){.kind = ATTR_STRING, .value.s = proto->s};
        return STATUS_OK;
    case ONNX_TENSOR:
        *ret_value = (AttrValue){.kind = ATTR_TENSOR};
        return onnx_tensor(import, proto->tensor, &ret_value->value.tensor, NULL);
    case ONNX_FLOATS:
        return read_numbers(import, bytes, ATTR_FLOAT, ret_value);
    case ONNX_INTS:
        return read_numbers(import, bytes, ATTR_INT, ret_value);
    case ONNX_STRINGS:
        return read_strings(import, &proto->strings, ret_value);
    default:
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "attributes of type %lld cannot be imported",
            (long long)proto->type);
    }
}

Status
onnx_emit(OnnxImport *import, const NodeDef *def)
{
    return builder_push(import->builder, def, sizeof *def);
}

Status
onnx_emit_const(OnnxImport *import, Slice name, const Tensor *value)
{
    assert(value->dtype != DTYPE_INVALID);
    void *memory = NULL;
    TRY(builder_alloc(import->builder, 2, sizeof(Attr), &memory));
    Attr *attrs = memory;
    attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = value->dtype}};
    attrs[1] = (Attr){.name = SLICE("value"), .value = {.kind = ATTR_TENSOR, .value.tensor = *value}};
    NodeDef def = {.name = name, .op = SLICE("Const"), .device = SLICE(""), .attrs = attrs, .attr_count = 2};
    if (!map_put(import->constants, name, &attrs[1].value.value.tensor)) {
        return call_fail_memory(import->call, "constants");
    }
    return onnx_emit(import, &def);
}

const Tensor *
onnx_find_constant(const OnnxImport *import, Slice endpoint)
{
    const Tensor *value = map_get(import->constants, endpoint);
    return value == NULL || tensor_is_absent(value) ? NULL : value;
}

static Status
copy_list(OnnxImport *import, const void *items, size_t count, size_t size, const void **ret_copy)
{
    void *copy = NULL;
    TRY(builder_alloc(import->builder, count, size, &copy));
    if (count > 0) {
        memcpy(copy, items, count * size);
    }
    *ret_copy = copy;
    return STATUS_OK;
}

Status
onnx_emit_node(OnnxImport *import, const OnnxNode *node)
{
    const void *inputs = NULL;
    const void *attrs = NULL;
    TRY(copy_list(import, node->inputs, node->input_count, sizeof(Slice), &inputs));
    TRY(copy_list(import, node->attrs, node->attr_count, sizeof(Attr), &attrs));
    Slice op = node->type;
    if (node->is_default_domain) {
        const char *text = text_format(import->builder->def->arena, "onnx::%.*s", SLICE_PRINT(node->type));
        if (text == NULL) {
            return call_fail_memory(import->call, "nodes");
        }
        op = slice_from_string(text);
    }
    NodeDef def = {.name = node->name,
        .op = op,
        .device = SLICE(""),
        .inputs = inputs,
        .input_count = node->input_count,
        .attrs = attrs,
        .attr_count = node->attr_count,
        .pointer = node->pointer};
    return onnx_emit(import, &def);
}

/* Makes the tensor of value_int, value_floats and the like: a scalar, or a vector of the list's items. */
static Status
tensor_of_value(OnnxImport *import, const AttrValue *value, Tensor *ret_tensor)
{
    size_t count = value->is_list ? value->value.list.count : 1;
    const AttrValue *items = value->is_list ? value->value.list.items : value;
    Shape shape = value->is_list ? shape_vector((int64_t)count) : shape_scalar();
    int64_t element_count = 0;
    if (value->kind == ATTR_STRING) {
        AUTO_ARENA arena = arena_new(count * sizeof(Slice) + 1);
        Slice *strings = arena == NULL ? NULL : arena_alloc(arena, count * sizeof *strings);
        if (strings == NULL) {
            return call_fail_memory(import->call, "a constant");
        }
        for (size_t index = 0; index < count; index++) {
            strings[index] = items[index].value.s;
        }
        return builder_string_tensor(import->builder, &shape, strings, count, ret_tensor);
    }
    bool is_float = value->kind == ATTR_FLOAT;
    TRY(builder_tensor(
        import->builder, is_float ? DTYPE_FLOAT32 : DTYPE_INT64, &shape, ret_tensor, &element_count));
    for (size_t index = 0; index < count; index++) {
        if (is_float) {
            ((float *)ret_tensor->data)[index] = items[index].value.f;
        } else {
            ((int64_t *)ret_tensor->data)[index] = items[index].value.i;
        }
    }
    return STATUS_OK;
}

Status
onnx_emit_constant(OnnxImport *import, const OnnxNode *node)
{
    if (node->attr_count != 1 || node->input_count != 0) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "a Constant has exactly one attribute");
    }
    const AttrValue *value = &node->attrs[0].value;
    if (value->kind == ATTR_TENSOR) {
        return onnx_emit_const(import, node->name, &value->value.tensor);
    }
    if (value->kind != ATTR_STRING && value->kind != ATTR_INT && value->kind != ATTR_FLOAT) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "this form of Constant cannot be imported");
    }
    Tensor tensor;
    TRY(tensor_of_value(import, value, &tensor));
    return onnx_emit_const(import, node->name, &tensor);
}
