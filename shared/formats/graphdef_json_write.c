#include <assert.h>
#include <stdlib.h>

#include "shared/base/memory.h"
#include "shared/formats/builder.h"
#include "shared/formats/graphdef_json.h"
#include "shared/json/writer.h"

static void write_attr_value(JsonWriter *writer, const AttrValue *value);

static void
member_text(JsonWriter *writer, const char *name, Slice text)
{
    if (text.size > 0) {
        json_member_slice(writer, name, text);
    }
}

static void
member_true(JsonWriter *writer, const char *name, bool is_true)
{
    if (is_true) {
        json_member_boolean(writer, name, true);
    }
}

/* 64-bit integers are strings in protobuf's JSON. */
static void
write_int64(JsonWriter *writer, int64_t value)
{
    char text[24];
    char *at = text + sizeof text;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        *--at = '-';
    }
    json_write_slice(writer, slice_of(at, (size_t)(text + sizeof text - at)));
}

static void
write_dtype(JsonWriter *writer, Dtype dtype)
{
    json_write_string(writer, dtype == DTYPE_INVALID ? "DT_INVALID" : dtype_tensorflow_name(dtype));
}

static void
write_shape(JsonWriter *writer, const Shape *shape)
{
    json_write_object_begin(writer);
    if (shape->rank < 0) {
        json_member_boolean(writer, "unknownRank", true);
    } else if (shape->rank > 0) {
        json_write_name(writer, "dim");
        json_write_array_begin(writer);
        for (int index = 0; index < shape->rank; index++) {
            json_write_object_begin(writer);
            if (shape->dims[index] != 0) {
                json_write_name(writer, "size");
                write_int64(writer, shape->dims[index]);
            }
            json_write_object_end(writer);
        }
        json_write_array_end(writer);
    }
    json_write_object_end(writer);
}

static void
write_strings(JsonWriter *writer, const Slice *elements, int64_t count)
{
    json_write_name(writer, "stringVal");
    json_write_array_begin(writer);
    for (int64_t index = 0; index < count; index++) {
        json_write_base64(writer, elements[index]);
    }
    json_write_array_end(writer);
}

static void
write_ref(JsonWriter *writer, const Sha256 *digest)
{
    char ref[SHA256_REF_SIZE];
    sha256_to_ref(digest, ref);
    json_member_string(writer, "ref", ref);
}

static void
write_tensor(JsonWriter *writer, const Tensor *tensor)
{
    json_write_object_begin(writer);
    json_write_name(writer, "dtype");
    write_dtype(writer, tensor->dtype);
    json_write_name(writer, "tensorShape");
    write_shape(writer, &tensor->shape);
    int64_t count = tensor->dtype == DTYPE_INVALID ? 0 : tensor_element_count(tensor);
    if (tensor_is_absent(tensor)) {
        write_ref(writer, tensor_digest(tensor));
    } else if (count > 0 && tensor->dtype == DTYPE_STRING) {
        write_strings(writer, tensor->data, count);
    } else if (count > 0 && tensor->data != NULL) {
        json_write_name(writer, "tensorContent");
        json_write_base64(writer, slice_of(tensor->data, tensor_byte_size(tensor)));
    }
    json_write_object_end(writer);
}

static int
compare_attrs(const void *left, const void *right)
{
    const Attr *a = *(const Attr *const *)left;
    const Attr *b = *(const Attr *const *)right;
    return slice_compare(a->name, b->name);
}

static bool
is_sorted(const Attr *attrs, size_t count)
{
    for (size_t index = 1; index < count; index++) {
        if (slice_compare(attrs[index - 1].name, attrs[index].name) > 0) {
            return false;
        }
    }
    return true;
}

static void
write_attr(JsonWriter *writer, const Attr *attr)
{
    json_write_name_slice(writer, attr->name);
    write_attr_value(writer, &attr->value);
}

static void
write_sorted(JsonWriter *writer, const Attr *attrs, size_t count)
{
    AUTO_MEMORY const Attr **sorted = memory_new(count, sizeof *sorted);
    if (sorted == NULL) {
        writer->buffer->has_failed = true;
        return;
    }
    for (size_t index = 0; index < count; index++) {
        sorted[index] = &attrs[index];
    }
    qsort(sorted, count, sizeof *sorted, compare_attrs);
    for (size_t index = 0; index < count; index++) {
        write_attr(writer, sorted[index]);
    }
}

static void
write_attrs(JsonWriter *writer, const Attr *attrs, size_t count)
{
    if (count == 0) {
        return;
    }
    json_write_name(writer, "attr");
    json_write_object_begin(writer);
    if (is_sorted(attrs, count)) {
        for (size_t index = 0; index < count; index++) {
            write_attr(writer, &attrs[index]);
        }
    } else {
        write_sorted(writer, attrs, count);
    }
    json_write_object_end(writer);
}

static void
write_function_ref(JsonWriter *writer, const FunctionRef *function)
{
    json_write_object_begin(writer);
    member_text(writer, "name", function->name);
    write_attrs(writer, function->attrs, function->attr_count);
    json_write_object_end(writer);
}

/* Writes a value without its member's name. */
static void
write_scalar(JsonWriter *writer, const AttrValue *value)
{
    switch (value->kind) {
    case ATTR_NONE:
        json_write_null(writer);
        break;
    case ATTR_STRING:
        json_write_base64(writer, value->value.s);
        break;
    case ATTR_INT:
        write_int64(writer, value->value.i);
        break;
    case ATTR_FLOAT:
        json_write_float(writer, value->value.f);
        break;
    case ATTR_BOOL:
        json_write_boolean(writer, value->value.b);
        break;
    case ATTR_TYPE:
        write_dtype(writer, value->value.type);
        break;
    case ATTR_SHAPE:
        write_shape(writer, &value->value.shape);
        break;
    case ATTR_TENSOR:
        write_tensor(writer, &value->value.tensor);
        break;
    case ATTR_FUNCTION:
        write_function_ref(writer, &value->value.function);
        break;
    case ATTR_PLACEHOLDER:
        json_write_slice(writer, value->value.s);
        break;
    }
}

static const char *
member_of(AttrKind kind)
{
    static const char *const names[] = {
        [ATTR_NONE] = NULL,
        [ATTR_STRING] = "s",
        [ATTR_INT] = "i",
        [ATTR_FLOAT] = "f",
        [ATTR_BOOL] = "b",
        [ATTR_TYPE] = "type",
        [ATTR_SHAPE] = "shape",
        [ATTR_TENSOR] = "tensor",
        [ATTR_FUNCTION] = "func",
        [ATTR_PLACEHOLDER] = "placeholder",
    };
    return names[kind];
}

static void
write_list(JsonWriter *writer, const AttrValue *list)
{
    json_write_name(writer, "list");
    json_write_object_begin(writer);
    if (list->value.list.count > 0) {
        json_write_name(writer, member_of(list->value.list.items[0].kind));
        json_write_array_begin(writer);
        for (size_t index = 0; index < list->value.list.count; index++) {
            write_scalar(writer, &list->value.list.items[index]);
        }
        json_write_array_end(writer);
    }
    json_write_object_end(writer);
}

static void
write_attr_value(JsonWriter *writer, const AttrValue *value)
{
    json_write_object_begin(writer);
    if (value->is_list) {
        write_list(writer, value);
    } else if (value->kind != ATTR_NONE) {
        json_write_name(writer, member_of(value->kind));
        write_scalar(writer, value);
    }
    json_write_object_end(writer);
}

static void
write_node(JsonWriter *writer, const NodeDef *node)
{
    json_write_object_begin(writer);
    member_text(writer, "name", node->name);
    member_text(writer, "op", node->op);
    if (node->input_count > 0) {
        json_write_name(writer, "input");
        json_write_array_begin(writer);
        for (size_t index = 0; index < node->input_count; index++) {
            json_write_slice(writer, node->inputs[index]);
        }
        json_write_array_end(writer);
    }
    member_text(writer, "device", node->device);
    write_attrs(writer, node->attrs, node->attr_count);
    json_write_object_end(writer);
}

static void
write_nodes(JsonWriter *writer, const char *name, const NodeDef *nodes, size_t count)
{
    if (count == 0) {
        return;
    }
    json_write_name(writer, name);
    json_write_array_begin(writer);
    for (size_t index = 0; index < count; index++) {
        write_node(writer, &nodes[index]);
    }
    json_write_array_end(writer);
}

static void
write_arguments(JsonWriter *writer, const char *name, const FunctionArgument *arguments, size_t count)
{
    if (count == 0) {
        return;
    }
    json_write_name(writer, name);
    json_write_array_begin(writer);
    for (size_t index = 0; index < count; index++) {
        const FunctionArgument *argument = &arguments[index];
        json_write_object_begin(writer);
        member_text(writer, "name", argument->name);
        if (argument->dtype != DTYPE_INVALID) {
            json_write_name(writer, "type");
            write_dtype(writer, argument->dtype);
        }
        member_text(writer, "typeAttr", argument->type_attr);
        member_text(writer, "numberAttr", argument->number_attr);
        member_text(writer, "typeListAttr", argument->type_list_attr);
        member_true(writer, "isRef", argument->is_reference);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_declared_attrs(JsonWriter *writer, const FunctionDef *function)
{
    if (function->declared_attr_count == 0) {
        return;
    }
    json_write_name(writer, "attr");
    json_write_array_begin(writer);
    for (size_t index = 0; index < function->declared_attr_count; index++) {
        const FunctionAttribute *declared = &function->declared_attrs[index];
        json_write_object_begin(writer);
        member_text(writer, "name", declared->attr.name);
        member_text(writer, "type", declared->type);
        if (declared->attr.value.kind != ATTR_NONE || declared->attr.value.is_list) {
            json_write_name(writer, "defaultValue");
            write_attr_value(writer, &declared->attr.value);
        }
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_returns(JsonWriter *writer, const char *name, const FunctionReturn *returns, size_t count)
{
    if (count == 0) {
        return;
    }
    json_write_name(writer, name);
    json_write_object_begin(writer);
    for (size_t index = 0; index < count; index++) {
        json_write_name_slice(writer, returns[index].name);
        json_write_slice(writer, returns[index].value);
    }
    json_write_object_end(writer);
}

static void
write_signature(JsonWriter *writer, const FunctionDef *function)
{
    json_write_name(writer, "signature");
    json_write_object_begin(writer);
    member_text(writer, "name", function->name);
    write_arguments(writer, "inputArg", function->inputs, function->input_count);
    write_arguments(writer, "outputArg", function->outputs, function->output_count);
    if (function->control_return_count > 0) {
        json_write_name(writer, "controlOutput");
        json_write_array_begin(writer);
        for (size_t index = 0; index < function->control_return_count; index++) {
            json_write_slice(writer, function->control_returns[index].name);
        }
        json_write_array_end(writer);
    }
    write_declared_attrs(writer, function);
    member_true(writer, "isStateful", function->is_stateful);
    json_write_object_end(writer);
}

static void
write_function(JsonWriter *writer, const FunctionDef *function)
{
    json_write_object_begin(writer);
    write_signature(writer, function);
    write_nodes(writer, "nodeDef", function->nodes, function->node_count);
    write_returns(writer, "ret", function->returns, function->return_count);
    write_attrs(writer, function->attrs, function->attr_count);
    write_returns(writer, "controlRet", function->control_returns, function->control_return_count);
    json_write_object_end(writer);
}

static void
write_library(JsonWriter *writer, const GraphDef *def)
{
    if (def->function_count == 0) {
        return;
    }
    json_write_name(writer, "library");
    json_write_object_begin(writer);
    json_write_name(writer, "function");
    json_write_array_begin(writer);
    for (size_t index = 0; index < def->function_count; index++) {
        write_function(writer, &def->functions[index]);
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
}

static void
write_versions(JsonWriter *writer, const GraphDef *def)
{
    if (def->producer == 0 && def->min_consumer == 0) {
        return;
    }
    json_write_name(writer, "versions");
    json_write_object_begin(writer);
    if (def->producer != 0) {
        json_member_int64(writer, "producer", def->producer);
    }
    if (def->min_consumer != 0) {
        json_member_int64(writer, "minConsumer", def->min_consumer);
    }
    json_write_object_end(writer);
}

static void
write_passes_off(JsonWriter *writer, const GraphDef *def)
{
    if (def->passes_off_count == 0) {
        return;
    }
    json_write_name(writer, "passesOff");
    json_write_array_begin(writer);
    for (size_t index = 0; index < def->passes_off_count; index++) {
        json_write_slice(writer, def->passes_off[index]);
    }
    json_write_array_end(writer);
}

void
graphdef_json_write(Buffer *buffer, const GraphDef *def)
{
    assert(buffer != NULL && def != NULL);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    write_nodes(&writer, "node", def->nodes, def->node_count);
    write_library(&writer, def);
    write_versions(&writer, def);
    write_passes_off(&writer, def);
    if (def->allows_tf32) {
        json_member_boolean(&writer, "allowTf32", true);
    }
    json_write_object_end(&writer);
}
