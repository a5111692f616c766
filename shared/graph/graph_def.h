/* A graph as its author wrote it: names, not links, and only the grammar checked. The formats read and
 * write it, and partitions travel to workers in this form. graph.h links and validates it.
 *
 * Ownership: refcounted, because graphs outlive the calls that made them; the arena holds all it points to.
 *            Strings may point into `source`, the bytes that it was read from, which it keeps.
 * Threads:   one thread builds it; then it is immutable and shared. */
#pragma once

#include "shared/graph/attribute.h"

typedef struct NodeDef {
    Slice name;
    Slice op;
    Slice device;        /* "" when none is asked for */
    const Slice *inputs; /* "node", "node:port", "^node"; "" for an absent optional input (onnx:: ops only) */
    size_t input_count;
    const Attr *attrs;
    size_t attr_count;
    const char *pointer; /* JSON pointer in its document, for errors: "/node/3"; NULL: by index */
} NodeDef;

typedef struct FunctionArgument {
    Slice name;
    Dtype dtype;       /* DTYPE_INVALID when an attribute gives it */
    Slice type_attr;   /* the function's attribute that names the dtype … */
    Slice number_attr; /* … or the number of tensors */
    Slice type_list_attr;
    bool is_reference;
} FunctionArgument;

/* An attribute that callers bind, and whose name placeholders in the body have. */
typedef struct FunctionAttribute {
    Attr attr;  /* name and default; ATTR_NONE and no list when there is no default */
    Slice type; /* "type", "list(int)", as in an OpDef */
} FunctionAttribute;

typedef struct FunctionReturn {
    Slice name;  /* of the output or control output */
    Slice value; /* "node:out:0", or the name of a node for a control output */
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

/* A feed or fetch that the model declares (inputs and outputs of an ONNX graph, signatures of a
 * SavedModel). */
typedef struct GraphPort {
    Slice name;   /* the name that clients use */
    Slice tensor; /* "node:port" */
    Dtype dtype;
    Shape shape;
} GraphPort;

/* A value that came with the model, from its checkpoint. */
typedef struct GraphTensor {
    Slice name; /* in the checkpoint */
    Tensor tensor;
} GraphTensor;

typedef struct GraphDef {
    int32_t reference_count; /* atomic */
    Arena *arena;
    TensorBuffer *source;          /* the bytes read, or NULL */
    struct GraphDef *origin;       /* the author's graph that this one was made of, or NULL */
    struct GraphDef *const *parts; /* the graphs that this one was joined of, in order; it points into them */
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
    const Slice *passes_off; /* of a partition: passes that the worker must not run */
    size_t passes_off_count;
    bool allows_tf32;      /* of a partition: an accelerator may multiply float32 in TF32 */
    const char **warnings; /* what was left out or changed on import */
    size_t warning_count;
} GraphDef;

/* Begins a string constant that was the path of a model's asset file; the file's content follows, since
 * workers read no files. */
#define GRAPH_ASSET_MARK "\001asset:"

enum { GRAPH_NODE_COUNT_MAX = 65536 };

/* Returns an empty definition whose arena may grow to `size_max` bytes; NULL without memory. */
MUST_USE GraphDef *graph_def_new(size_t size_max);
GraphDef *graph_def_ref(GraphDef *def);
void graph_def_unref(GraphDef *def); /* NULL is allowed */

static inline void
graph_def_unrefp(GraphDef **def)
{
    graph_def_unref(*def);
}
#define AUTO_GRAPH_DEF CLEANUP(graph_def_unrefp) GraphDef *

/* Returns the author's definition, however often it was rewritten. */
GraphDef *graph_def_author(GraphDef *def);

const AttrValue *node_def_attr(const NodeDef *node, Slice name); /* NULL when there is none */

/* Returns true for names of letters, digits, '.', '-', '/' and '_', of which the last three may not come
 * first; several such names may be joined by '>'. `allows_internal` admits a leading '_', as in
 * partitions. */
bool node_name_is_valid(Slice name, bool allows_internal);

/* The parts of "node", "node:port" or "^node". */
typedef struct NodeInput {
    Slice node;
    uint32_t port;
    bool is_control;
} NodeInput;

/* Returns false when the text has none of the three forms. Does not check whether the node exists. */
MUST_USE bool node_input_parse(Slice text, NodeInput *ret_input);
