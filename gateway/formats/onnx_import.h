/* Inside the ONNX import. Private to gateway/formats.
 *
 *   onnx.c          the model: opsets, the order of events
 *   onnx_graph.c    inputs, initializers, nodes and outputs of the model's graph
 *   onnx_names.c    names that fit our grammar
 *   onnx_scope.c    which endpoint each value is, also of those a subgraph takes from around it
 *   onnx_body.c     subgraphs: each becomes a function, what it takes from around it its arguments
 *   onnx_local.c    the model's own functions: each use is written out
 *   onnx_tensor.c   TensorProto
 *   onnx_node.c     one node: attributes, inputs, the NodeDef
 *   onnx_adapt.c    older operator versions to the newest one */
#pragma once

#include "gateway/formats/onnx_proto.h"
#include "shared/base/map.h"
#include "shared/formats/builder.h"

typedef struct OnnxScope OnnxScope;
typedef struct OnnxLocal OnnxLocal;

typedef struct OnnxImport {
    Call *call;
    GraphBuilder *builder; /* its stack holds the NodeDefs made so far */
    Arena *scratch;        /* gone when the import ends */
    TensorBuffer *source;
    Map *names; /* node names in use → NameUse */
    OnnxScope *scope;
    Buffer functions;       /* FunctionDef[]: the subgraphs so far */
    Map *locals;            /* the model's own functions → OnnxLocal */
    const OnnxLocal *local; /* the one whose nodes are being read; NULL: none */
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
/* --- Scopes --------------------------------------------------------------------------------------------- */

enum { ONNX_DEPTH_MAX = 32 }; /* of subgraphs and functions in one another */

/* A value that a node's subgraphs take from around them. */
typedef struct OnnxCapture {
    Slice argument; /* of the functions that they become */
    Slice tensor;   /* outside */
} OnnxCapture;

typedef struct OnnxCaptures {
    Buffer items;  /* OnnxCapture *[] */
    Map *by_value; /* value → OnnxCapture */
} OnnxCaptures;

struct OnnxScope {
    OnnxScope *outer; /* whose values it may use, too; NULL: nobody's */
    Map *values;      /* the graph's values → OnnxValue */
    OnnxCaptures *captures;
    size_t depth;
};

/* Values are looked up and defined in a new scope, until onnx_scope_close(). RESOURCE_EXHAUSTED past the
 * depth. */
MUST_USE Status onnx_scope_open(
    OnnxImport *import, OnnxScope *scope, OnnxScope *outer, OnnxCaptures *captures);
void onnx_scope_close(OnnxImport *import, OnnxScope *scope, OnnxScope *before);

/* The graph's value is now this port of this node. INVALID_ARGUMENT when it was defined before. */
MUST_USE Status onnx_define(OnnxImport *import, Slice value, Slice node, size_t port);
/* NULL when there is no such value; one from around a subgraph is captured. */
MUST_USE Status onnx_find(OnnxImport *import, Slice value, const OnnxValue **ret_value);

/* --- Graphs --------------------------------------------------------------------------------------------- */

/* Name, dtype and shape of a ValueInfoProto; DTYPE_INVALID when it says none. */
MUST_USE Status onnx_port(OnnxImport *import, Slice bytes, GraphPort *ret_port);
/* Defines and emits initializers; `ret_names` (may be NULL) → Tensor. */
MUST_USE Status onnx_initializers(OnnxImport *import, const OnnxGraphProto *graph, Map *ret_names);
/* `pointer` is the graph's place in the model. */
MUST_USE Status onnx_nodes(OnnxImport *import, const SliceList *nodes, Slice prefix, const char *pointer);
MUST_USE Status onnx_graph(OnnxImport *import, Slice bytes);

/* --- Tensors -------------------------------------------------------------------------------------------- */

/* Also gives the tensor's name in the model; `ret_name` may be NULL. */
MUST_USE Status onnx_tensor(OnnxImport *import, Slice bytes, Tensor *ret_tensor, Slice *ret_name);
/* A known dtype of ours for ONNX's number. UNIMPLEMENTED otherwise, naming `what`. */
MUST_USE Status onnx_dtype(OnnxImport *import, int64_t number, Slice what, Dtype *ret_dtype);

/* --- Nodes ---------------------------------------------------------------------------------------------- */

enum {
    ONNX_NODE_ROOM = 4,  /* inputs and attributes that adapters may add */
    ONNX_BODIES_MAX = 4, /* subgraphs of one node */
};

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
    const char *pointer;            /* in the model, for errors */
    OnnxCaptures *captures;         /* of its subgraphs; NULL: it has none */
    size_t bodies[ONNX_BODIES_MAX]; /* places of their functions in import->functions */
    size_t body_count;
} OnnxNode;

/* Attributes read, inputs resolved. */
MUST_USE Status onnx_make_node(
    OnnxImport *import, const OnnxNodeProto *proto, Slice name, const char *pointer, OnnxNode *ret_node);
/* One attribute into the node, in the form the graph has; a reference to nothing leaves the node as it is. */
MUST_USE Status onnx_read_attr(OnnxImport *import, Slice bytes, OnnxNode *node);
/* The opset of the default domain, 0 when the list names none. UNIMPLEMENTED when it is too old or too new.
 */
MUST_USE Status onnx_opset(OnnxImport *import, const SliceList *opsets, int64_t *ret_opset);

MUST_USE Status onnx_node(OnnxImport *import, const OnnxNodeProto *proto, Slice name, const char *pointer);

/* Adds a finished node to the graph. */
MUST_USE Status onnx_emit(OnnxImport *import, const NodeDef *def);
MUST_USE Status onnx_emit_const(OnnxImport *import, Slice name, const Tensor *value);
MUST_USE Status onnx_emit_node(OnnxImport *import, const OnnxNode *node);

/* --- Subgraphs and functions ---------------------------------------------------------------------------- */

/* The subgraph as a function whose name is the attribute's value. */
MUST_USE Status onnx_body(
    OnnxImport *import, OnnxNode *node, Slice attribute, Slice bytes, AttrValue *ret_value);
/* Once all attributes are read: gives the node's functions their arguments. What the node has to hand them of
 * its surroundings are its last inputs; "_captures" says how many. */
MUST_USE Status onnx_add_captures(OnnxImport *import, OnnxNode *node);

MUST_USE Status onnx_read_locals(OnnxImport *import, const SliceList *functions);
/* NULL: the node is no call of a function of the model's. */
OnnxLocal *onnx_find_local(OnnxImport *import, const OnnxNodeProto *proto);
/* Its outputs will be at names of their own, since it has no node itself. */
MUST_USE Status onnx_define_call(OnnxImport *import, const OnnxNodeProto *proto, Slice name);
MUST_USE Status onnx_call(
    OnnxImport *import, OnnxLocal *local, const OnnxNodeProto *proto, Slice name, const char *pointer);
/* What the caller bound to the function's attribute; NULL: nothing. */
const AttrValue *onnx_bound(const OnnxImport *import, Slice attribute);

/* --- Adapters ------------------------------------------------------------------------------------------- */

/* Emits the node in the newest version of its operator: itself, or several that do the same. */
MUST_USE Status onnx_adapt(OnnxImport *import, OnnxNode *node);

AttrValue *onnx_attr(const OnnxNode *node, const char *name); /* NULL when it has none */
void onnx_attr_remove(OnnxNode *node, const char *name);
void onnx_attr_set(OnnxNode *node, const char *name, AttrValue value); /* replaces, or takes room */
