/* Protobuf messages written field by field, and ONNX models made of them, as input of readers. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/tensor/tensor.h"

void protobuf_put_varint(Buffer *message, uint32_t field, uint64_t value);
void protobuf_put_float(Buffer *message, uint32_t field, float value);
void protobuf_put_bytes(Buffer *message, uint32_t field, Slice bytes);
void protobuf_put_text(Buffer *message, uint32_t field, const char *text);
/* Appends the inner message as a field, and empties it for its next use. */
void protobuf_put_message(Buffer *message, uint32_t field, Buffer *inner);

/* Puts attr[name] = value into a NodeDef, and empties the value. */
void graphdef_put_attr(Buffer *node, const char *name, Buffer *value);

/* Append AttributeProtos, for onnx_put_node(). */
void onnx_put_int(Buffer *attributes, const char *name, int64_t value);
void onnx_put_ints(Buffer *attributes, const char *name, const int64_t *values, size_t count);
void onnx_put_float(Buffer *attributes, const char *name, float value);
void onnx_put_floats(Buffer *attributes, const char *name, const float *values, size_t count);
void onnx_put_string(Buffer *attributes, const char *name, const char *value);
/* `values` are separated by commas. */
void onnx_put_strings(Buffer *attributes, const char *name, const char *values);

/* Appends a node: `inputs` and `outputs` are comma lists; "a,,b" leaves the second out. A type may
 * name its domain: "com.microsoft::Gelu". `attributes` may be NULL, and is emptied. */
void onnx_put_node(
    Buffer *graph, const char *type, const char *inputs, const char *outputs, Buffer *attributes);
/* Appends a graph input (field 11) or output (12) of this ONNX element type and shape. */
void onnx_put_value(
    Buffer *graph, uint32_t field, const char *name, int element_type, const int64_t *dims, size_t rank);
/* Appends an initializer of float32 elements, as raw data. */
void onnx_put_floats_initializer(Buffer *graph, const char *name, const float *values, int64_t count);

/* Appends a subgraph as an attribute, and empties it. */
void onnx_put_graph(Buffer *attributes, const char *name, Buffer *graph);

/* Returns the whole model, as onnx_read() takes it; `graph` is emptied. */
TensorBuffer *onnx_model(Buffer *graph, int64_t opset);
/* Returns a model with FunctionProtos, its fields 25. */
TensorBuffer *onnx_model_with(Buffer *graph, int64_t opset, Buffer *functions);
