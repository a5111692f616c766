/* The parts of the ONNX import. Private to gateway/formats.
 *
 *   onnx.c          the model: opsets, the order of events
 *   onnx_graph.c    graphs and their nodes, which nest: subgraphs become functions, calls of the model's own
 *                   functions are written out
 *   onnx_node.c     a node on its way into the graph: its attributes, its NodeDef
 *   onnx_names.c    names that fit our grammar, and the endpoint of each value, also of those that a subgraph
 *                   takes from around it
 *   onnx_tensor.c   TensorProto
 *   onnx_external.c where a tensor lies that is not in the model
 *   onnx_adapt.c    older operator versions to the newest one
 *   onnx_operators.c  operators that are spelled out in others, by tables; onnx_spell.c has what these share:
 *     onnx_contrib.c         of ONNX Runtime
 *     onnx_attention.c       its attentions
 *     onnx_classical.c       ai.onnx.ml: classical models
 *     onnx_trees.c           ai.onnx.ml: ensembles of trees
 *     onnx_labels.c          ai.onnx.ml: labels mapped to others
 *     onnx_flex_attention.c  ONNX's own that takes functions
 *     onnx_quantised.c       those of quantised numbers
 *     onnx_random.c          random numbers */
#pragma once

#include "gateway/formats/onnx_proto.h"
#include "shared/base/map.h"
#include "shared/formats/builder.h"

typedef struct OnnxScope OnnxScope;
typedef struct OnnxLocal OnnxLocal;

typedef struct OnnxImport {
    Call *call;
    GraphBuilder *builder; /* its stack holds the NodeDefs emitted so far */
    Arena *scratch;        /* freed when the import ends */
    TensorBuffer *source;
    Map *names;     /* node names in use → NameUse */
    Map *constants; /* nodes of constants → Tensor */
    OnnxScope *scope;
    Buffer functions;       /* FunctionDef[]: of the subgraphs so far */
    Map *locals;            /* the model's own functions → OnnxLocal */
    const OnnxLocal *local; /* the one whose nodes are being read, or NULL */
    int64_t opset;
    bool
        has_other_floats; /* some tensor is float16, bfloat16 or float64: constants must follow their input */
} OnnxImport;

typedef struct OnnxValue {
    Slice tensor; /* "node" or "node:port" */
} OnnxValue;

/* Takes a free name that fits the grammar and is as near to `wanted` as possible. */
MUST_USE Status onnx_name(OnnxImport *import, Slice wanted, Slice *ret_name);
/* Takes a free name like "<name>/<part>". */
MUST_USE Status onnx_part_name(OnnxImport *import, Slice name, const char *part, Slice *ret_name);
enum { ONNX_DEPTH_MAX = 32 }; /* of subgraphs and functions inside one another */

/* A value that a node's subgraphs use from around them. */
typedef struct OnnxCapture {
    Slice argument; /* the functions' argument that stands for it */
    Slice tensor;   /* the value's endpoint outside */
} OnnxCapture;

typedef struct OnnxCaptures {
    Buffer items;  /* OnnxCapture *[] */
    Map *by_value; /* value → OnnxCapture */
} OnnxCaptures;

struct OnnxScope {
    OnnxScope *outer; /* whose values it may use too, or NULL */
    Map *values;      /* names of the graph's values → OnnxValue */
    OnnxCaptures *captures;
    size_t depth;
};

/* Opens a scope, in which values are looked up and defined until onnx_scope_close(). RESOURCE_EXHAUSTED
 * past the depth. */
MUST_USE Status onnx_scope_open(
    OnnxImport *import, OnnxScope *scope, OnnxScope *outer, OnnxCaptures *captures);
void onnx_scope_close(OnnxImport *import, OnnxScope *scope, OnnxScope *before);

/* Defines a value of the graph as this port of this node. INVALID_ARGUMENT when it is defined already. */
MUST_USE Status onnx_define(OnnxImport *import, Slice value, Slice node, size_t port);
/* Finds a value, which is captured when it comes from around a subgraph. NULL when there is none of this
 * name. */
MUST_USE Status onnx_find(OnnxImport *import, Slice value, const OnnxValue **ret_value);

/* Reads the model's graph: its inputs, initializers, nodes and outputs. */
MUST_USE Status onnx_graph(OnnxImport *import, Slice bytes);

/* Notes the model's own functions, which nodes may call. */
MUST_USE Status onnx_read_locals(OnnxImport *import, const SliceList *functions);

/* Finds the opset of the default domain, 0 when the list names none. UNIMPLEMENTED when it is too old or
 * too new. */
MUST_USE Status onnx_opset(OnnxImport *import, const SliceList *opsets, int64_t *ret_opset);

/* Reads a TensorProto; `ret_name`, the tensor's name in the model, may be NULL. */
MUST_USE Status onnx_tensor(OnnxImport *import, Slice bytes, Tensor *ret_tensor, Slice *ret_name);
/* Finds the Dtype of ONNX's number. UNIMPLEMENTED, naming `what`, when there is none. */
MUST_USE Status onnx_dtype(OnnxImport *import, int64_t number, Slice what, Dtype *ret_dtype);

enum {
    ONNX_NODE_ROOM = 4,  /* inputs and attributes that adapters may add to a node */
    ONNX_BODIES_MAX = 4, /* subgraphs of one node */
};

/* A node on its way into the graph, as adapters change it. */
typedef struct OnnxNode {
    Slice name; /* in the graph */
    Slice type; /* "Conv"; "com.microsoft::Gelu" */
    bool is_default_domain;
    Slice *inputs; /* endpoints, "" for absent ones; room for ONNX_NODE_ROOM more */
    size_t input_count;
    size_t output_count;
    Attr *attrs; /* room for ONNX_NODE_ROOM more */
    size_t attr_count;
    const char *pointer;            /* JSON pointer into the model, for errors */
    OnnxCaptures *captures;         /* of its subgraphs; NULL: it has no subgraph */
    size_t bodies[ONNX_BODIES_MAX]; /* indices of their functions in import->functions */
    size_t body_count;
} OnnxNode;

/* Returns the node's attribute of this name, or NULL. */
AttrValue *onnx_attr(const OnnxNode *node, const char *name);
void onnx_attr_remove(OnnxNode *node, const char *name);
/* Replaces the attribute, or adds it, for which there must be room. */
void onnx_attr_set(OnnxNode *node, const char *name, AttrValue value);

/* Returns the type of an attribute; files of IR version 1 do not have it, but it follows from the fields
 * that are set. */
int64_t onnx_attribute_type(const OnnxAttributeProto *proto);
/* Returns true when the integer of this attribute is an element type: it becomes a DataType in the graph. */
bool onnx_names_dtype(Slice name);
/* Reads the value of an attribute that is not a graph. `bytes` is its message. */
MUST_USE Status onnx_read_value(
    OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, AttrValue *ret_value);
/* Reads a list of numbers as a vector of float32 or int64 that lives as long as the import, any other value
 * as onnx_read_value() does. An attribute of a node in the graph must not be such a vector. */
MUST_USE Status onnx_read_packed(
    OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, AttrValue *ret_value);

/* Returns true for a list of an ensemble of trees that is as long as the ensemble has nodes or weights;
 * onnx_read_trees() reads it as onnx_read_packed() does, and modes as their numbers. */
bool onnx_is_list_of_trees(const OnnxNode *node, Slice name);
MUST_USE Status onnx_read_trees(
    OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, AttrValue *ret_value);

/* Add a finished node to the graph: a NodeDef as it is, a Const of this value, an OnnxNode, the value of a
 * Constant. */
MUST_USE Status onnx_emit(OnnxImport *import, const NodeDef *def);
MUST_USE Status onnx_emit_const(OnnxImport *import, Slice name, const Tensor *value);
MUST_USE Status onnx_emit_node(OnnxImport *import, const OnnxNode *node);
MUST_USE Status onnx_emit_constant(OnnxImport *import, const OnnxNode *node);
/* Emits a part of a node that becomes several: a node of ONNX's own domain with a name below the whole's. */
MUST_USE Status onnx_emit_part(OnnxImport *import, const OnnxNode *whole, const char *part,
    const OnnxNode *shape_of_part, Slice *ret_name);

/* Sets an input that the node has not to a float: a constant of the dtype of input 0, named after `part`. */
MUST_USE Status onnx_float_input(
    OnnxImport *import, OnnxNode *node, const char *part, size_t position, float number);

/* Returns the value of the constant that was emitted under this name; NULL when there is none, or in a graph
 * around this one. */
const Tensor *onnx_find_constant(const OnnxImport *import, Slice endpoint);

/* Spells out an operator in others (onnx_spell.h): the node becomes another one, others are emitted in front
 * of it. Any other node is left as it is. */
MUST_USE Status onnx_spell_out(OnnxImport *import, OnnxNode *node);

/* Spells out a FlexAttention, as onnx_spell_out() does. */
MUST_USE Status onnx_flex_attention(OnnxImport *import, OnnxNode *node);

/* Emits the node in the newest version of its operator: as one node, or as several that do the same. */
MUST_USE Status onnx_adapt(OnnxImport *import, OnnxNode *node);
