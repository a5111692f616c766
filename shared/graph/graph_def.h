/* A graph as its author wrote it: names, not links; nothing checked but the grammar. What the formats read
 * and write; what a partition is on its way to a worker. graph.h links and validates it.
 *
 * Ownership: a GraphDef owns an arena that holds all it points to; refcounted, because graphs outlive the
 *            calls that made them. Strings may point into `source`, the bytes it was read from, which it
 *            keeps.
 * Threads:   built by one, then immutable and shared. */
#pragma once

#include "shared/graph/attribute.h"

typedef struct NodeDef {
    Slice name;
    Slice op;
    Slice device;        /* "" when nothing was asked for */
    const Slice *inputs; /* "node", "node:port", "^node"; "" is an absent optional input (onnx:: ops only) */
    size_t input_count;
    const Attr *attrs;
    size_t attr_count;
    const char *pointer; /* where it stands in its document, for errors: "/node/3"; NULL: by index */
} NodeDef;

typedef struct FunctionArgument {
    Slice name;
    Dtype dtype;       /* DTYPE_INVALID when given by an attribute */
    Slice type_attr;   /* the function's attribute that names the dtype */
    Slice number_attr; /* … or how many of them */
    Slice type_list_attr;
    bool is_reference;
} FunctionArgument;

/* An attribute that callers bind; its bodies say it as a placeholder. */
typedef struct FunctionAttribute {
    Attr attr;  /* the name, and the default; ATTR_NONE and no list: it has none */
    Slice type; /* "type", "list(int)", as OpDef writes it */
} FunctionAttribute;

typedef struct FunctionReturn {
    Slice name;  /* of the output or control output */
    Slice value; /* "node:out:0", or the node's name for a control output */
} FunctionReturn;

typedef struct FunctionDef {
    Slice name;
    const FunctionArgument *inputs;
    size_t input_count;
    const FunctionArgument *outputs;
    size_t output_count;
    const FunctionAttribute *declared_attrs;
    size_t declared_attr_count;
    bool is_stateful;
    const NodeDef *nodes;
    size_t node_count;
    const FunctionReturn *returns;
    size_t return_count;
    const FunctionReturn *control_returns;
    size_t control_return_count;
    const Attr *attrs;
    size_t attr_count;
} FunctionDef;

/* Named feeds or fetches that a model declares (ONNX graph inputs and outputs, SavedModel signatures). */
typedef struct GraphPort {
    Slice name;   /* what the user says */
    Slice tensor; /* "node:port" */
    Dtype dtype;
    Shape shape;
} GraphPort;

/* A value that comes with the model: a variable's, as its checkpoint has it. */
typedef struct GraphTensor {
    Slice name; /* in the checkpoint */
    Tensor tensor;
} GraphTensor;

typedef struct GraphDef {
    int32_t reference_count; /* atomic */
    Arena *arena;
    TensorBuffer *source;          /* the bytes read, or NULL */
    struct GraphDef *origin;       /* the author's, when this one was made of it; or NULL */
    struct GraphDef *const *parts; /* what it was put together of, in order; it points into them */
    size_t part_count;
    const NodeDef *nodes;
    size_t node_count;
    const FunctionDef *functions;
    size_t function_count;
    int64_t producer;
    int64_t min_consumer;
    const GraphPort *inputs; /* declared by the model; none for a bare GraphDef */
    size_t input_count;
    const GraphPort *outputs;
    size_t output_count;
    const GraphTensor *checkpoint;
    size_t checkpoint_count;
    const Slice *passes_off; /* of a partition: the worker's passes that are not wanted */
    size_t passes_off_count;
    const char **warnings; /* what was left out or changed on import */
    size_t warning_count;
} GraphDef;

/* Begins a string constant that was the path of a model's asset file: the file's content follows. A worker
 * reads no files. */
#define GRAPH_ASSET_MARK "\001asset:"

enum { GRAPH_NODE_COUNT_MAX = 65536 };

/* An empty one whose arena may grow to `size_max` bytes. NULL without memory. */
MUST_USE GraphDef *graph_def_new(size_t size_max);
GraphDef *graph_def_ref(GraphDef *def);
void graph_def_unref(GraphDef *def); /* NULL is allowed */

static inline void
graph_def_unrefp(GraphDef **def)
{
    graph_def_unref(*def);
}
#define AUTO_GRAPH_DEF CLEANUP(graph_def_unrefp) GraphDef *

/* The author's, however often it was rewritten. */
GraphDef *graph_def_author(GraphDef *def);

const AttrValue *node_def_attr(const NodeDef *node, Slice name); /* NULL when it has none */

/* --- Grammar -------------------------------------------------------------------------------------------- */

/* A letter, digit or '.', then also '-' '/' '_'; parts of that form may be joined by '>'. `allows_internal`
 * lets a leading '_' pass, as in partitions. */
bool node_name_is_valid(Slice name, bool allows_internal);

/* "node", "node:port" or "^node", taken apart. */
typedef struct NodeInput {
    Slice node;
    uint32_t port;
    bool is_control;
} NodeInput;

/* False when `text` has none of the three forms; whether the node exists is not looked at. */
MUST_USE bool node_input_parse(Slice text, NodeInput *ret_input);
