/* A linked and validated graph: the form that planning and execution work on. Every attribute an op declares
 * is present (defaults filled in), every input resolved to a node and port, every dtype known.
 *
 * Rules (TensorFlow's import; reference: NodeDef rules, ValidateGraphDef): names by grammar and unique, data
 * inputs before control inputs, ports in range, dtypes agree with signatures, attributes of the declared
 * kind, no cycle but through NextIteration → Merge. An op that does not exist is no error here: its node has
 * op == NULL and unknown outputs; who needs the node fails (UNIMPLEMENTED).
 * For ONNX ops and those of control flow, type attributes that are missing are bound from the inputs' dtypes;
 * so are those of a node whose attribute "_type_of" names an endpoint, from that.
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

#define NODE_NONE UINT32_MAX /* Endpoint.node of an absent optional input */

struct Node {
    uint32_t id; /* index in graph->nodes, in the author's order */
    Slice name;
    const Op *op; /* NULL: unknown op */
    const NodeDef *def;
    const Attr *attrs; /* declared ones first, in the op's order, defaults filled in; then "_…" ones */
    size_t attr_count;
    const Endpoint *inputs; /* data inputs, flattened */
    const Dtype *input_dtypes;
    uint32_t input_count;
    const uint32_t *controls; /* nodes that must finish first; sorted, unique */
    uint32_t control_count;
    const Dtype *output_dtypes; /* flattened */
    uint32_t output_count;
};

typedef struct Graph {
    int32_t reference_count; /* atomic */
    Arena *arena;
    GraphDef *def;
    Node *nodes;
    uint32_t node_count;
    const uint32_t *order; /* all node ids in topological order, ties by id (Kahn, ascending) */
    Map *by_name;          /* name → Node */
} Graph;

/* INVALID_ARGUMENT (with up to 20 details, JSON pointers) when the graph breaks a rule;
 * RESOURCE_EXHAUSTED above node_count_max. */
typedef struct GraphLimits {
    size_t node_count_max; /* 0: GRAPH_NODE_COUNT_MAX */
    bool allows_internal;  /* names that begin with '_', as in partitions */
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

/* "name" or "name:port" → node and port; of a NoOp with a list of strings "_outputs", what that lists: there
 * an expanded node left its outputs. NOT_FOUND or INVALID_ARGUMENT with a sentence. */
MUST_USE Status graph_endpoint(Call *call, const Graph *graph, Slice text, Endpoint *ret_endpoint);

/* --- Attributes of a linked node: declared ones are there, of their kind; asking for another is a bug. -- */

const AttrValue *node_attr(const Node *node, const char *name); /* NULL when neither declared nor given */
int64_t node_attr_int(const Node *node, const char *name);
float node_attr_float(const Node *node, const char *name);
bool node_attr_bool(const Node *node, const char *name);
Slice node_attr_string(const Node *node, const char *name);
Dtype node_attr_type(const Node *node, const char *name);
const Tensor *node_attr_tensor(const Node *node, const char *name);
/* Copies at most `capacity` ints; the list's count. A missing optional list counts 0. */
size_t node_attr_ints(const Node *node, const char *name, int64_t *ret_values, size_t capacity);

/* Whether the argument is a reference to a variable (TensorFlow's Ref(T)) rather than a value. */
bool node_input_is_reference(const Node *node, uint32_t index);
bool node_output_is_reference(const Node *node, uint32_t port);

/* Whether the session keeps something under its name (OP_KEEPS_STATE, OP_RANDOM with seeds). */
bool node_keeps_state(const Node *node);

/* --- Traversal ------------------------------------------------------------------------------------------ */

/* Marks in needed[node_count] what `roots` depend on, data and control, without going through endpoints for
 * which `stops_at` says true (fed tensors; may be NULL). */
void graph_mark_needed(const Graph *graph, const uint32_t *roots, size_t root_count,
    bool (*stops_at)(void *context, Endpoint endpoint), void *context, bool *needed);

/* Shapes of all outputs, in topological order, from the ops' rules and constants; `seeds` may fix some
 * (placeholders fed with known shapes). ret_shapes[node][port]. Merges of loops get their entry's rank. */
typedef struct ShapeSeed {
    Endpoint endpoint;
    Shape shape;
    const Tensor *value; /* when it is known, else NULL */
} ShapeSeed;
MUST_USE Status graph_infer_shapes(Call *call, const Graph *graph, const ShapeSeed *seeds, size_t seed_count,
    const Shape *const **ret_shapes);
