/* A graph while passes change it: they replace nodes, add new ones, and make readers of one output read
 * another. Nodes that nothing needs any more are left out when the graph is written again.
 *
 * Nodes keep their ids, and added ones follow. Passes must ask for inputs by rewrite_input(), which knows
 * of redirections.
 *
 * Ownership: everything lives in the arena of `call`; what the written graph needs lives in its GraphDef.
 * Threads:   one.
 * Errors:    RESOURCE_EXHAUSTED without memory. Nothing here checks whether a change is right: the passes
 *            decide. */
#pragma once

#include "shared/graph/graph.h"

typedef struct RewriteNode {
    Node node;           /* inputs as first written, dtypes, attributes; the functions node_attr_…() take
                          * it */
    const Shape *shapes; /* by output */
    Endpoint *readings;  /* by output: the endpoint to read instead, or the output itself */
    uint32_t origin;     /* the node of the first graph that it was, or was added beside */
    bool is_kept;        /* a target or a _Retval, never left out */
    bool has_control_readers;
    bool has_effects; /* it, or a node that it needs, is stateful: without it an effect might not happen */
    bool is_fixed;    /* a Const, or computed from constants alone; found anew when a pass begins */
    bool is_assigned; /* its output is changed through a reference: a constant that stands for a variable */
} RewriteNode;

/* A node that a pass changed or took out. */
typedef struct RewriteNote {
    const char *pass;
    Slice node;
} RewriteNote;

typedef struct Rewrite {
    Call *call;
    const Graph *graph; /* the first graph */
    RewriteNode **nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    bool has_control_flow;  /* has a Switch, Merge, Enter, …: values may be dead or belong to a frame */
    const uint32_t *frames; /* by node of the first graph: its loop; NULL when there are no loops */
    const char *pass;       /* the name of the pass at work, for notes */
    RewriteNote *notes;
    uint32_t note_count;
    uint32_t note_capacity;
    bool has_no_memory; /* a note was lost */
} Rewrite;

/* Begins with a graph, the shapes of its outputs (graph_infer_shapes()) and the nodes that must keep their
 * names. */
MUST_USE Status rewrite_begin(
    Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept, Rewrite *ret_rewrite);

static inline const Node *
rewrite_node(const Rewrite *rewrite, uint32_t id)
{
    return &rewrite->nodes[id]->node;
}

bool rewrite_is(const Rewrite *rewrite, uint32_t id, const char *op);
bool rewrite_is_any_of(const Rewrite *rewrite, uint32_t id, const char *const *ops, size_t op_count);

/* Returns the endpoint that is read instead of this one now. */
Endpoint rewrite_resolve(const Rewrite *rewrite, Endpoint endpoint);

/* Returns a data input; NODE_NONE for an absent one, or one behind the last. */
Endpoint rewrite_input(const Rewrite *rewrite, uint32_t id, uint32_t index);

const Shape *rewrite_shape(const Rewrite *rewrite, Endpoint endpoint);
Dtype rewrite_dtype(const Rewrite *rewrite, Endpoint endpoint);

/* Returns the value of a Const, else NULL; NULL also when its elements are absent. A Const with control
 * inputs may be dead all the same. */
const Tensor *rewrite_constant(const Rewrite *rewrite, Endpoint endpoint);

/* Returns true for a float32 constant of one element that is this number, up to rounding, and never dead. */
bool rewrite_is_number(const Rewrite *rewrite, Endpoint endpoint, double number);

/* Returns true when the endpoint is a Const, absent or not, or computed from constants alone, so that workers
 * fold it; as of when the pass began, or the node was added. */
bool rewrite_is_fixed(const Rewrite *rewrite, Endpoint endpoint);

/* Returns true when readers of the node may read its input `index` instead, as far as the other data
 * inputs are concerned: they are fixed, or have no effects and are never dead. Otherwise the node may be
 * dead while this input is not. */
bool rewrite_rests_on(const Rewrite *rewrite, uint32_t id, uint32_t index);

/* Returns true when no node that is computed from constants alone may be added beside this one: it would
 * run outside of the loop. */
bool rewrite_is_in_loop(const Rewrite *rewrite, uint32_t id);

/* Returns true when readers of the node's outputs may read `instead`: the node is no target, has no
 * effects and no part in control flow, no control edges, and no device request of its own; and `instead`
 * is no variable, which could change before its value is read. */
bool rewrite_may_give_way(const Rewrite *rewrite, uint32_t id, Endpoint instead);

/* Counts the data inputs of needed nodes that read each output: counts[node][port]. Walks the whole graph. */
MUST_USE Status rewrite_count_readers(const Rewrite *rewrite, uint32_t ***ret_counts);

/* Returns true when `reader`, which is needed, is the only reader of the node's first output, and no other
 * output is read: then `reader` may do the node's work as well. */
bool rewrite_is_private(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, uint32_t reader);

/* Makes readers of `from` read `to`. */
void rewrite_redirect(Rewrite *rewrite, Endpoint from, Endpoint to);

/* Makes the node read other inputs, as many as before. */
MUST_USE Status rewrite_reread(Rewrite *rewrite, uint32_t id, const Endpoint *inputs, uint32_t input_count);

/* The op that a node becomes. `attrs` has every attribute that the op needs. */
typedef struct RewriteOp {
    const char *op;
    const Endpoint *inputs;
    uint32_t input_count;
    const Attr *attrs;
    uint32_t attr_count;
} RewriteOp;

/* Makes the node another op over other inputs; inputs and attributes are copied. Its name, outputs, device
 * and control inputs stay. Outputs that the new op does not have must not be read. */
MUST_USE Status rewrite_replace(Rewrite *rewrite, uint32_t id, const RewriteOp *becomes);

/* Makes the node a constant; takes a reference to the value. */
MUST_USE Status rewrite_to_constant(Rewrite *rewrite, uint32_t id, const Tensor *value);

/* Adds a node of one output, of its first input's dtype. It has the device and origin of the node
 * `beside`, and a name derived from that node's. */
MUST_USE Status rewrite_add(
    Rewrite *rewrite, uint32_t beside, const char *role, const RewriteOp *op, Endpoint *ret_endpoint);

/* Adds a constant in the same way. */
MUST_USE Status rewrite_add_constant(
    Rewrite *rewrite, uint32_t beside, const char *role, const Tensor *value, Endpoint *ret_endpoint);

/* Begins a pass, which sees the changes of the passes before it. */
void rewrite_begin_pass(Rewrite *rewrite, const char *pass);

/* Returns zeroed memory in the arena of the call; NULL without memory. */
void *rewrite_alloc(const Rewrite *rewrite, size_t count, size_t size);
MUST_USE Status rewrite_no_memory(const Rewrite *rewrite);

typedef struct Rewritten {
    GraphDef *def;
    Graph *graph;
    const uint32_t *origins;    /* by node of `graph`: the node of the first graph that it was */
    const Shape *const *shapes; /* by node of `graph` */
} Rewritten;

/* Writes the needed nodes in the old order, and links them. The caller owns def and graph. */
MUST_USE Status rewrite_finish(Rewrite *rewrite, GraphDef *def, Rewritten *ret_rewritten);
