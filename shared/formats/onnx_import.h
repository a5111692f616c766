/* Inside the ONNX import. Private to shared/formats.
 *
 *   onnx.c          the model: opsets, inputs, outputs, the order of events
 *   onnx_names.c    names that fit our grammar; which endpoint each value is
 *   onnx_tensor.c   TensorProto
 *   onnx_node.c     one node: attributes, inputs, the NodeDef
 *   onnx_adapt.c    older operator versions to the newest one */
#pragma once

#include "shared/base/map.h"
#include "shared/formats/builder.h"
#include "shared/formats/onnx_proto.h"

typedef struct OnnxImport {
    Call *call;
    GraphBuilder *builder; /* its stack holds the NodeDefs made so far */
    Arena *scratch;        /* gone when the import ends */
    TensorBuffer *source;
    Map *names;  /* node names in use → NameUse */
    Map *values; /* the model's values → OnnxValue */
    int64_t opset;
    bool
        has_other_floats; /* some tensor is float16, bfloat16 or float64: constants must follow their input */
} OnnxImport;

/* --- Names ---------------------------------------------------------------------------------------------- */

typedef struct OnnxValue {
    Slice tensor; /* "node" or "node:port" */
} OnnxValue;

/* A name that fits the grammar, is not taken yet and is as near to `wanted` as can be; it is taken now. */
MUST_USE Status onnx_name(OnnxImport *import, Slice wanted, Slice *ret_name);
/* "<name>/<part>", made unique. */
MUST_USE Status onnx_part_name(OnnxImport *import, Slice name, const char *part, Slice *ret_name);
/* The model's value is now this port of this node. INVALID_ARGUMENT when it was defined before. */
MUST_USE Status onnx_define(OnnxImport *import, Slice value, Slice node, size_t port);
/* NULL when the model has no such value. */
const OnnxValue *onnx_find(const OnnxImport *import, Slice value);

/* --- Tensors -------------------------------------------------------------------------------------------- */

/* Also gives the tensor's name in the model; `ret_name` may be NULL. */
MUST_USE Status onnx_tensor(OnnxImport *import, Slice bytes, Tensor *ret_tensor, Slice *ret_name);
/* A known dtype of ours for ONNX's number. UNIMPLEMENTED otherwise, naming `what`. */
MUST_USE Status onnx_dtype(OnnxImport *import, int64_t number, Slice what, Dtype *ret_dtype);

/* --- Nodes ---------------------------------------------------------------------------------------------- */

enum { ONNX_NODE_ROOM = 4 }; /* inputs and attributes that adapters may add */

/* A node on its way: what adapters change. */
typedef struct OnnxNode {
    Slice name; /* ours */
    Slice type; /* "Conv"; "com.microsoft::Gelu" */
    bool is_default_domain;
    Slice *inputs; /* endpoints, "" for absent ones; room for ONNX_NODE_ROOM more */
    size_t input_count;
    size_t output_count;
    Attr *attrs; /* room for ONNX_NODE_ROOM more */
    size_t attr_count;
    const char *pointer; /* in the model, for errors */
} OnnxNode;

MUST_USE Status onnx_node(OnnxImport *import, const OnnxNodeProto *proto, Slice name, const char *pointer);

/* Adds a finished node to the graph. */
MUST_USE Status onnx_emit(OnnxImport *import, const NodeDef *def);
MUST_USE Status onnx_emit_const(OnnxImport *import, Slice name, const Tensor *value);
MUST_USE Status onnx_emit_node(OnnxImport *import, const OnnxNode *node);

/* --- Adapters ------------------------------------------------------------------------------------------- */

/* Emits the node in the newest version of its operator: itself, or several that do the same. */
MUST_USE Status onnx_adapt(OnnxImport *import, OnnxNode *node);

AttrValue *onnx_attr(const OnnxNode *node, const char *name); /* NULL when it has none */
void onnx_attr_remove(OnnxNode *node, const char *name);
void onnx_attr_set(OnnxNode *node, const char *name, AttrValue value); /* replaces, or takes room */
