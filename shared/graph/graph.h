/* A linked and validated graph: the form that planning and execution work on. Every attribute that an op
 * declares is present, defaults filled in; every input is resolved to a node and port; every dtype is
 * known.
 *
 * Rules (TensorFlow's import; reference: NodeDef rules, ValidateGraphDef): names are valid and unique,
 * data inputs come before control inputs, ports exist, dtypes agree with signatures, attributes are of the
 * declared kind, and the only cycles are NextIteration → Merge. An unknown op is no error here: its node
 * has op == NULL and unknown outputs, and whoever needs the node fails (UNIMPLEMENTED). Type attributes
 * that are missing are bound from the inputs' dtypes in ONNX ops and ops of control flow; in a node with
 * the attribute "_type_of", from the endpoint that it names.
 *
 * Ownership: refcounted; holds a reference to its GraphDef and all else in one arena.
 * Threads:   immutable once linked. */
#pragma once

#include "shared/base/map.h"
#include "shared/graph/graph_def.h"
#include "shared/graph/op.h"

typedef struct Endpoint {
    uint32_t node;
    uint32_t port;
} Endpoint;

#define NODE_NONE UINT32_MAX /* node of an absent optional input */

struct Node {
    uint32_t id; /* index in graph->nodes, in the author's order */
    Slice name;
    const Op *op; /* NULL for an unknown op */
    const NodeDef *def;
    const Attr *attrs; /* those that the op declares, in its order; then those whose names begin with '_' */
    size_t attr_count;
    const Attr *foreign; /* an attribute with a meaning that this release does not know, or NULL: it belongs
                          * to a later version of the op, and steps that need the node are refused */
    const Endpoint *inputs; /* data inputs, flattened */
    const Dtype *input_dtypes;
    uint32_t input_count;
    const uint32_t *controls; /* nodes that must finish first; sorted, unique */
    uint32_t control_count;
    const Dtype *output_dtypes; /* flattened */
    uint32_t output_count;
    bool is_channels_last; /* images have their channels last though the author has them first, and a filter
                            * its input channels (shared/ops/layout.h) */
    uint32_t read_outputs; /* bit i: a node's input is output i; bit 31: one from the 31st on. What nobody
                            * reads need not be computed */
};

typedef struct Graph {
    int32_t reference_count; /* atomic */
    Arena *arena;
    GraphDef *def;
    Node *nodes;
    uint32_t node_count;
    const uint32_t *order; /* all node ids in topological order, the lower of equals first (Kahn) */
    Map *by_name;          /* name → Node */
} Graph;

/* Limits of graph_link(), which fails with INVALID_ARGUMENT when the graph breaks a rule (with up to 20
 * details, which have JSON pointers), and with RESOURCE_EXHAUSTED above node_count_max. */
typedef struct GraphLimits {
    size_t node_count_max; /* 0: GRAPH_NODE_COUNT_MAX */
    bool allows_internal;  /* names that begin with '_', as in partitions */
    bool
        is_to_run; /* refuses what is not complete: constants whose elements are absent, foreign attributes */
} GraphLimits;

MUST_USE Status graph_link(Call *call, GraphDef *def, OpFind find, GraphLimits limits, Graph **ret_graph);
Graph *graph_ref(Graph *graph);
void graph_unref(Graph *graph); /* NULL is allowed */

static inline void
graph_unrefp(Graph **graph)
{
    graph_unref(*graph);
}
#define AUTO_GRAPH CLEANUP(graph_unrefp) Graph *

const Node *graph_find(const Graph *graph, Slice name); /* NULL when there is none */

/* Resolves "name" or "name:port". A node that was expanded has left a NoOp, whose attribute "_outputs"
 * lists the endpoints that give its outputs now. Fails with NOT_FOUND or INVALID_ARGUMENT. */
MUST_USE Status graph_endpoint(Call *call, const Graph *graph, Slice text, Endpoint *ret_endpoint);

/* Resolves what is fetched: of an input and an output that the model declares by one name, this is the
 * output, where graph_endpoint() gives the input. */
MUST_USE Status graph_fetch(Call *call, const Graph *graph, Slice text, Endpoint *ret_endpoint);

const AttrValue *node_attr(const Node *node, const char *name); /* NULL when neither declared nor given */

/* Return the value of an attribute that the op declares, of this kind; asking for any other ends the
 * process. */
int64_t node_attr_int(const Node *node, const char *name);
float node_attr_float(const Node *node, const char *name);
bool node_attr_bool(const Node *node, const char *name);
Slice node_attr_string(const Node *node, const char *name);
Dtype node_attr_type(const Node *node, const char *name);
/* The elements may be absent. */
const Tensor *node_attr_tensor(const Node *node, const char *name);
/* Returns the value of a Const whose elements can be read; NULL for an absent one, whose value is not known
 * here, and for other nodes. */
const Tensor *node_known_value(const Node *node);
/* Returns how many items a list attribute has; 0 when it is absent. */
size_t node_attr_count(const Node *node, const char *name);
/* Copies at most `capacity` numbers and returns the length of the list; 0 for an optional list that is
 * missing. */
size_t node_attr_ints(const Node *node, const char *name, int64_t *ret_values, size_t capacity);

/* Return true when the tensor is a reference to a variable (TensorFlow's Ref(T)), not a value. */
bool node_input_is_reference(const Node *node, uint32_t index);
bool node_output_is_reference(const Node *node, uint32_t port);

bool node_is_merge(const Node *node);

/* Returns true for the edge NextIteration → Merge, which closes a loop. */
bool edge_is_back(const Node *source, const Node *node);

/* Returns true when the session keeps state under the node's name (OP_KEEPS_STATE, or OP_RANDOM with
 * seeds). */
bool node_keeps_state(const Node *node);

/* Marks in needed[node_count] all nodes that `roots` depend on, by data or control. The walk ends at
 * endpoints for which `stops_at` returns true, such as fed tensors; it may be NULL. */
void graph_mark_needed(const Graph *graph, const uint32_t *roots, size_t root_count,
    bool (*stops_at)(void *context, Endpoint endpoint), void *context, bool *needed);

/* The known shape of an output, such as that of a fed placeholder. */
typedef struct ShapeSeed {
    Endpoint endpoint;
    Shape shape;
    const Tensor *value; /* NULL when it is not known */
} ShapeSeed;

/* Infers the shapes of all outputs, ret_shapes[node][port], from the ops' rules, constants and seeds. The
 * Merge of a loop keeps the rank of the value that enters the loop. */
MUST_USE Status graph_infer_shapes(Call *call, const Graph *graph, const ShapeSeed *seeds, size_t seed_count,
    const Shape *const **ret_shapes);
