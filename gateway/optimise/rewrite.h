/* A graph while passes change it: nodes may be replaced, new ones added, and what reads one output made to
 * read another. What nobody needs any more is left out when the graph is written again.
 *
 * Nodes have the ids of the graph that came in; added ones follow. Inputs must be asked for by
 * rewrite_input(), which knows what was redirected.
 *
 * Ownership: everything lives in the arena of `call`, but what ends up in the written graph: in its GraphDef.
 * Threads:   one.
 * Errors:    RESOURCE_EXHAUSTED without memory; passes decide what is right, nothing is checked here. */
#pragma once

#include "shared/graph/graph.h"

typedef struct RewriteNode {
    Node node;           /* inputs as written, dtypes, attributes: node_attr_…() work on it */
    const Shape *shapes; /* of its outputs */
    Endpoint *readings;  /* of each output: what is read instead; itself when nothing else */
    uint32_t origin;     /* the node of the graph that came in */
    bool is_kept;        /* a target or a _Retval: stays whatever happens */
    bool has_control_readers;
    bool has_effects; /* it is stateful, or something it needs is: left out, somebody may miss it */
    bool is_fixed;    /* a Const, or computed from such alone; known anew when a pass begins */
    bool is_assigned; /* its output is changed through a reference: a constant that stands for a variable */
} RewriteNode;

/* One node that a pass changed or took out. */
typedef struct RewriteNote {
    const char *pass;
    Slice node;
} RewriteNote;

typedef struct Rewrite {
    Call *call;
    const Graph *graph; /* as it came in */
    RewriteNode **nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    bool has_control_flow;  /* any Switch, Merge, Enter, …: values may be dead or belong to a frame */
    const uint32_t *frames; /* of each node that came in: its loop; NULL: there are none */
    const char *pass;       /* at work, for notes */
    RewriteNote *notes;
    uint32_t note_count;
    uint32_t note_capacity;
    bool has_no_memory; /* for a note: what was changed would not be known */
} Rewrite;

/* `shapes` as graph_infer_shapes() gives them; `is_kept` of each node. */
MUST_USE Status rewrite_begin(
    Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept, Rewrite *ret_rewrite);

/* --- Asking --------------------------------------------------------------------------------------------- */

static inline const Node *
rewrite_node(const Rewrite *rewrite, uint32_t id)
{
    return &rewrite->nodes[id]->node;
}

bool rewrite_is(const Rewrite *rewrite, uint32_t id, const char *op);
bool rewrite_is_any_of(const Rewrite *rewrite, uint32_t id, const char *const *ops, size_t op_count);

/* What is read instead of this output now. */
Endpoint rewrite_resolve(const Rewrite *rewrite, Endpoint endpoint);

/* Of a data input; NODE_NONE for an absent one or one behind the last. */
Endpoint rewrite_input(const Rewrite *rewrite, uint32_t id, uint32_t index);

const Shape *rewrite_shape(const Rewrite *rewrite, Endpoint endpoint);
Dtype rewrite_dtype(const Rewrite *rewrite, Endpoint endpoint);

/* The value when the endpoint is a Const, else NULL. One that waits for something may be dead all the same.
 */
const Tensor *rewrite_constant(const Rewrite *rewrite, Endpoint endpoint);

/* Whether it is a float32 constant of one element, this one but for rounding, and is there whenever it is
 * read. */
bool rewrite_is_number(const Rewrite *rewrite, Endpoint endpoint, double number);

/* Whether the endpoint is a Const or computed from such alone, so that workers fold it. As it was when the
 * pass began, or the node was made. */
bool rewrite_is_fixed(const Rewrite *rewrite, Endpoint endpoint);

/* Whether nobody misses the node's other data inputs, when its readers read what this one gives: they are
 * fixed, or neither dead nor of any effect. Else the node may be dead while this input is not. */
bool rewrite_rests_on(const Rewrite *rewrite, uint32_t id, uint32_t index);

/* Whether a node that is computed of constants alone must not be added beside this one: it would run outside
 * of the loop. */
bool rewrite_is_in_loop(const Rewrite *rewrite, uint32_t id);

/* Whether readers of the node's outputs may read `instead`: the node is no target, has no effect and no part
 * in control flow, there is no control edge from or to it, and it asked for no other device; and `instead` is
 * no variable, which may change while its value is still to be read. */
bool rewrite_may_give_way(const Rewrite *rewrite, uint32_t id, Endpoint instead);

/* How many data inputs of needed nodes read each output: counts[node][port]. Costs a walk of the graph. */
MUST_USE Status rewrite_count_readers(const Rewrite *rewrite, uint32_t ***ret_counts);

/* Whether `reader`, which is needed, alone reads the first output of the node, and no other output is read:
 * if it may do the node's work as well, nobody sees the difference. */
bool rewrite_is_private(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, uint32_t reader);

/* --- Changing ------------------------------------------------------------------------------------------- */

/* Readers of `from` read `to` from now on. */
void rewrite_redirect(Rewrite *rewrite, Endpoint from, Endpoint to);

/* The node reads these inputs instead, as many as before. */
MUST_USE Status rewrite_reread(Rewrite *rewrite, uint32_t id, const Endpoint *inputs, uint32_t input_count);

/* What a node becomes. `attrs` are all that the op needs. */
typedef struct RewriteOp {
    const char *op;
    const Endpoint *inputs;
    uint32_t input_count;
    const Attr *attrs;
    uint32_t attr_count;
} RewriteOp;

/* The node becomes another op over other inputs, which are copied as the attributes are; its name, outputs,
 * device and control inputs stay. Outputs that the new op does not have must not be read. */
MUST_USE Status rewrite_replace(Rewrite *rewrite, uint32_t id, const RewriteOp *becomes);

/* The node becomes a constant; takes a reference to the value. */
MUST_USE Status rewrite_to_constant(Rewrite *rewrite, uint32_t id, const Tensor *value);

/* A new node of one output, of its first input's dtype; in the place of the node `beside` (its device, its
 * origin) and named after it. */
MUST_USE Status rewrite_add(
    Rewrite *rewrite, uint32_t beside, const char *role, const RewriteOp *op, Endpoint *ret_endpoint);

/* A new constant, as rewrite_add(). */
MUST_USE Status rewrite_add_constant(
    Rewrite *rewrite, uint32_t beside, const char *role, const Tensor *value, Endpoint *ret_endpoint);

/* What one pass did, the next one sees. */
void rewrite_begin_pass(Rewrite *rewrite, const char *pass);

/* --- Its parts ------------------------------------------------------------------------------------------ */

/* Zeroed, in the arena of the call; NULL without memory. */
void *rewrite_alloc(const Rewrite *rewrite, size_t count, size_t size);
MUST_USE Status rewrite_no_memory(const Rewrite *rewrite);

void rewrite_tell_fixed(const Rewrite *rewrite, RewriteNode *node);

/* Its outputs are read as they are. */
MUST_USE Status rewrite_begin_node(const Rewrite *rewrite, uint32_t id, RewriteNode *node);

/* --- Writing -------------------------------------------------------------------------------------------- */

typedef struct Rewritten {
    GraphDef *def;
    Graph *graph;
    const uint32_t *origins;    /* of each node of `graph`: the node it was in the graph that came in */
    const Shape *const *shapes; /* of each node of `graph` */
} Rewritten;

/* The needed nodes, in the old order, linked. The caller owns def and graph. */
MUST_USE Status rewrite_finish(Rewrite *rewrite, GraphDef *def, Rewritten *ret_rewritten);
