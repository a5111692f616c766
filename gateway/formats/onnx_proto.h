/* ONNX's messages as views into their bytes, of which only the wire format has been read. Private to
 * gateway/formats. Field numbers: onnx.proto of ONNX 1.22. */
#pragma once

#include "gateway/formats/message_view.h"

typedef struct OnnxModelProto {
    Slice graph;
    SliceList opsets;
    SliceList functions;
} OnnxModelProto;

typedef struct OnnxGraphProto {
    SliceList nodes;
    SliceList initializers;
    SliceList sparse_initializers;
    SliceList inputs;
    SliceList outputs;
} OnnxGraphProto;

typedef struct OnnxNodeProto {
    SliceList inputs;
    SliceList outputs;
    SliceList attributes;
    Slice name;
    Slice op_type;
    Slice domain;
    Slice overload;
} OnnxNodeProto;

typedef struct OnnxFunctionProto {
    Slice name;
    Slice domain;
    Slice overload;
    SliceList inputs;
    SliceList outputs;
    SliceList defaults; /* attributes that have a default value */
    SliceList nodes;
    SliceList opsets;
} OnnxFunctionProto;

typedef struct OnnxValueProto {
    Slice name;
    int64_t elem_type; /* 0: not a tensor */
    bool has_shape;
    SliceList dims; /* -1 where the size is not a number */
} OnnxValueProto;

typedef enum OnnxAttributeType {
    ONNX_UNDEFINED,
    ONNX_FLOAT,
    ONNX_INT,
    ONNX_STRING,
    ONNX_TENSOR,
    ONNX_GRAPH,
    ONNX_FLOATS,
    ONNX_INTS,
    ONNX_STRINGS,
    ONNX_TENSORS,
    ONNX_GRAPHS,
} OnnxAttributeType;

typedef struct OnnxAttributeProto {
    Slice name;
    int64_t type;
    float f;
    int64_t i;
    Slice s;
    Slice tensor;
    SliceList strings;
    SliceList tensors;
    Slice graph;
    Slice reference; /* the function's attribute whose value it takes; "": it has a value of its own */
} OnnxAttributeProto;

/* Read the message's fields; lists are made in `arena`. INVALID_ARGUMENT when the bytes are damaged. */
MUST_USE Status onnx_parse_model(Call *call, Arena *arena, Slice bytes, OnnxModelProto *ret_model);
MUST_USE Status onnx_parse_graph(Call *call, Arena *arena, Slice bytes, OnnxGraphProto *ret_graph);
MUST_USE Status onnx_parse_node(Call *call, Arena *arena, Slice bytes, OnnxNodeProto *ret_node);
MUST_USE Status onnx_parse_value(Call *call, Arena *arena, Slice bytes, OnnxValueProto *ret_value);
MUST_USE Status onnx_parse_function(Call *call, Arena *arena, Slice bytes, OnnxFunctionProto *ret_function);
MUST_USE Status onnx_parse_attribute(
    Call *call, Arena *arena, Slice bytes, OnnxAttributeProto *ret_attribute);
/* Reads the domain and version of an OperatorSetIdProto. */
MUST_USE Status onnx_parse_opset(Call *call, Slice bytes, Slice *ret_domain, int64_t *ret_version);
