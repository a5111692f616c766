/* Protobuf messages written field by field, and ONNX models from them: what tests of readers read. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/tensor/tensor.h"

void protobuf_put_varint(Buffer *message, uint32_t field, uint64_t value);
void protobuf_put_float(Buffer *message, uint32_t field, float value);
void protobuf_put_bytes(Buffer *message, uint32_t field, Slice bytes);
void protobuf_put_text(Buffer *message, uint32_t field, const char *text);
/* Puts the inner message in, and empties it for its next use. */
void protobuf_put_message(Buffer *message, uint32_t field, Buffer *inner);

/* --- ONNX ----------------------------------------------------------------------------------------------- */

/* AttributeProtos, to be handed to onnx_put_node(). */
void onnx_put_int(Buffer *attributes, const char *name, int64_t value);
void onnx_put_ints(Buffer *attributes, const char *name, const int64_t *values, size_t count);
void onnx_put_float(Buffer *attributes, const char *name, float value);
void onnx_put_floats(Buffer *attributes, const char *name, const float *values, size_t count);
void onnx_put_string(Buffer *attributes, const char *name, const char *value);

/* A node: `inputs` and `outputs` are comma lists; "a,,b" leaves the second out. `attributes` may be NULL, and
 * is emptied. */
void onnx_put_node(
    Buffer *graph, const char *type, const char *inputs, const char *outputs, Buffer *attributes);
/* A graph input (field 11) or output (12) of this ONNX element type and shape. */
void onnx_put_value(
    Buffer *graph, uint32_t field, const char *name, int element_type, const int64_t *dims, size_t rank);
/* An initializer of float32 elements, as raw data. */
void onnx_put_floats_initializer(Buffer *graph, const char *name, const float *values, int64_t count);

/* A subgraph as an attribute; emptied. */
void onnx_put_graph(Buffer *attributes, const char *name, Buffer *graph);

/* The whole model, as onnx_read() takes it; `graph` is emptied. */
TensorBuffer *onnx_model(Buffer *graph, int64_t opset);
/* With FunctionProtos as fields 25 of the model. */
TensorBuffer *onnx_model_with(Buffer *graph, int64_t opset, Buffer *functions);
