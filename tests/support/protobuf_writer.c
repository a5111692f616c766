#include "tests/support/protobuf_writer.h"

#include <stdlib.h>

static void
put_number(Buffer *message, uint64_t value)
{
    while (value >= 0x80) {
        buffer_append_byte(message, (char)(value | 0x80));
        value >>= 7;
    }
    buffer_append_byte(message, (char)value);
}

void
protobuf_put_varint(Buffer *message, uint32_t field, uint64_t value)
{
    put_number(message, (uint64_t)field << 3);
    put_number(message, value);
}

void
protobuf_put_float(Buffer *message, uint32_t field, float value)
{
    put_number(message, (uint64_t)field << 3 | 5);
    buffer_append(message, &value, sizeof value);
}

void
protobuf_put_bytes(Buffer *message, uint32_t field, Slice bytes)
{
    put_number(message, (uint64_t)field << 3 | 2);
    put_number(message, bytes.size);
    buffer_append_slice(message, bytes);
}

void
protobuf_put_text(Buffer *message, uint32_t field, const char *text)
{
    protobuf_put_bytes(message, field, slice_from_string(text));
}

void
protobuf_put_message(Buffer *message, uint32_t field, Buffer *inner)
{
    protobuf_put_bytes(message, field, buffer_slice(inner));
    buffer_clear(inner);
}

void
graphdef_put_attr(Buffer *node, const char *name, Buffer *value)
{
    AUTO_BUFFER entry = {0};
    protobuf_put_text(&entry, 1, name);
    protobuf_put_message(&entry, 2, value);
    protobuf_put_message(node, 5, &entry);
}

enum {
    ATTRIBUTE_FLOAT = 1,
    ATTRIBUTE_INT,
    ATTRIBUTE_STRING,
    ATTRIBUTE_FLOATS = 6,
    ATTRIBUTE_INTS,
    ATTRIBUTE_STRINGS
};

static void
finish_attribute(Buffer *attributes, Buffer *attribute, const char *name, uint64_t type)
{
    protobuf_put_text(attribute, 1, name);
    protobuf_put_varint(attribute, 20, type);
    protobuf_put_message(attributes, 5, attribute);
}

void
onnx_put_int(Buffer *attributes, const char *name, int64_t value)
{
    AUTO_BUFFER attribute = {0};
    protobuf_put_varint(&attribute, 3, (uint64_t)value);
    finish_attribute(attributes, &attribute, name, ATTRIBUTE_INT);
}

void
onnx_put_ints(Buffer *attributes, const char *name, const int64_t *values, size_t count)
{
    AUTO_BUFFER attribute = {0};
    for (size_t index = 0; index < count; index++) {
        protobuf_put_varint(&attribute, 8, (uint64_t)values[index]);
    }
    finish_attribute(attributes, &attribute, name, ATTRIBUTE_INTS);
}

void
onnx_put_float(Buffer *attributes, const char *name, float value)
{
    AUTO_BUFFER attribute = {0};
    protobuf_put_float(&attribute, 2, value);
    finish_attribute(attributes, &attribute, name, ATTRIBUTE_FLOAT);
}

void
onnx_put_floats(Buffer *attributes, const char *name, const float *values, size_t count)
{
    AUTO_BUFFER attribute = {0};
    for (size_t index = 0; index < count; index++) {
        protobuf_put_float(&attribute, 7, values[index]);
    }
    finish_attribute(attributes, &attribute, name, ATTRIBUTE_FLOATS);
}

void
onnx_put_string(Buffer *attributes, const char *name, const char *value)
{
    AUTO_BUFFER attribute = {0};
    protobuf_put_text(&attribute, 4, value);
    finish_attribute(attributes, &attribute, name, ATTRIBUTE_STRING);
}

static void
put_names(Buffer *node, uint32_t field, const char *names)
{
    Slice rest = slice_from_string(names);
    Slice name;
    while (names[0] != '\0' && slice_split(&rest, ',', &name)) {
        protobuf_put_bytes(node, field, name);
    }
}

void
onnx_put_strings(Buffer *attributes, const char *name, const char *values)
{
    AUTO_BUFFER attribute = {0};
    put_names(&attribute, 9, values);
    finish_attribute(attributes, &attribute, name, ATTRIBUTE_STRINGS);
}

void
onnx_put_node(Buffer *graph, const char *type, const char *inputs, const char *outputs, Buffer *attributes)
{
    AUTO_BUFFER node = {0};
    put_names(&node, 1, inputs);
    put_names(&node, 2, outputs);
    const char *colons = strstr(type, "::");
    if (colons != NULL) {
        protobuf_put_bytes(&node, 7, slice_of(type, (size_t)(colons - type)));
    }
    protobuf_put_text(&node, 4, colons == NULL ? type : colons + 2);
    if (attributes != NULL) {
        buffer_append_slice(&node, buffer_slice(attributes));
        buffer_clear(attributes);
    }
    protobuf_put_message(graph, 1, &node);
}

void
onnx_put_value(
    Buffer *graph, uint32_t field, const char *name, int element_type, const int64_t *dims, size_t rank)
{
    AUTO_BUFFER dim = {0};
    AUTO_BUFFER shape = {0};
    AUTO_BUFFER tensor = {0};
    AUTO_BUFFER type = {0};
    AUTO_BUFFER value = {0};
    for (size_t index = 0; index < rank; index++) {
        if (dims[index] >= 0) {
            protobuf_put_varint(&dim, 1, (uint64_t)dims[index]);
        } else {
            protobuf_put_text(&dim, 2, "batch");
        }
        protobuf_put_message(&shape, 1, &dim);
    }
    protobuf_put_varint(&tensor, 1, (uint64_t)element_type);
    protobuf_put_message(&tensor, 2, &shape);
    protobuf_put_message(&type, 1, &tensor);
    protobuf_put_text(&value, 1, name);
    protobuf_put_message(&value, 2, &type);
    protobuf_put_message(graph, field, &value);
}

void
onnx_put_floats_initializer(Buffer *graph, const char *name, const float *values, int64_t count)
{
    AUTO_BUFFER tensor = {0};
    protobuf_put_varint(&tensor, 1, (uint64_t)count);
    protobuf_put_varint(&tensor, 2, 1);
    protobuf_put_text(&tensor, 8, name);
    protobuf_put_bytes(&tensor, 9, slice_of(values, (size_t)count * sizeof *values));
    protobuf_put_message(graph, 5, &tensor);
}

void
onnx_put_graph(Buffer *attributes, const char *name, Buffer *graph)
{
    AUTO_BUFFER attribute = {0};
    protobuf_put_text(&attribute, 1, name);
    protobuf_put_message(&attribute, 6, graph);
    protobuf_put_varint(&attribute, 20, 5);
    protobuf_put_message(attributes, 5, &attribute);
}

TensorBuffer *
onnx_model(Buffer *graph, int64_t opset)
{
    AUTO_BUFFER none = {0};
    return onnx_model_with(graph, opset, &none);
}

TensorBuffer *
onnx_model_with(Buffer *graph, int64_t opset, Buffer *functions)
{
    AUTO_BUFFER model = {0};
    AUTO_BUFFER import = {0};
    protobuf_put_varint(&model, 1, 8);
    protobuf_put_message(&model, 7, graph);
    protobuf_put_varint(&import, 2, (uint64_t)opset);
    protobuf_put_message(&model, 8, &import);
    buffer_append_slice(&model, buffer_slice(functions));
    TensorBuffer *buffer = buffer_is_ok(&model) ? tensor_buffer_new(model.size) : NULL;
    if (buffer == NULL) {
        abort();
    }
    memcpy(buffer->data, model.data, model.size);
    return buffer;
}
