/* Inside gateway/expand: freezing, a graph on its way from freeze.c to freeze_write.c.
 *
 * Ownership: lists live in the call's arena. */
#pragma once

#include "gateway/expand/freeze.h"
#include "shared/base/map.h"

typedef struct Freezing {
    Call *call;
    const Graph *graph;
    GraphDef *def;
    Map *checkpoint;       /* name → GraphTensor */
    bool *needed;          /* by a signature, of each node */
    const Node **carried;  /* of each node: the variable that its outputs stand for, or NULL */
    const Tensor **values; /* of each variable, by its node's id: what the checkpoint has, or NULL */
    const Node **writers;  /* … who changes it; NULL: nobody that a signature needs */
    bool *is_restore;      /* of each node: it assigns to a variable what the checkpoint has */
    bool *is_dropped;
    bool keeps_restores;
} Freezing;

MUST_USE static inline Status
freezing_no_memory(const Freezing *freezing)
{
    return call_fail_memory(freezing->call, "a graph with a checkpoint's values");
}

static inline bool
op_is(const Node *node, const char *op)
{
    return slice_equals_string(node->def->op, op);
}

static inline bool
is_handle(const Node *variable)
{
    return op_is(variable, "VarHandleOp");
}

/* Whether the variable becomes a constant. */
static inline bool
is_frozen(const Freezing *freezing, const Node *variable)
{
    return freezing->values[variable->id] != NULL && freezing->writers[variable->id] == NULL;
}

static inline const Node *
source_of(const Freezing *freezing, const Node *node, uint32_t input)
{
    const bool is_there = input < node->input_count && node->inputs[input].node != NODE_NONE;
    return is_there ? &freezing->graph->nodes[node->inputs[input].node] : NULL;
}

/* The variable behind an input; NULL: none. */
static inline const Node *
variable_at(const Freezing *freezing, const Node *node, uint32_t input)
{
    const Node *const source = source_of(freezing, node, input);
    return source == NULL ? NULL : freezing->carried[source->id];
}

/* --- Values (freeze_values.c) --------------------------------------------------------------------------- */

/* Fills `values` and `is_restore`. INVALID_ARGUMENT for a value of another dtype than its variable's. */
MUST_USE Status freezing_find_values(const Freezing *freezing);

/* What a RestoreV2 gives as its output `port`; NULL when the graph or the checkpoint does not say it. */
const GraphTensor *freezing_restored(const Freezing *freezing, const Node *restore, uint32_t port);
/* How many tensors it names. */
size_t freezing_restored_count(const Freezing *freezing, const Node *restore);

/* --- Nodes out (freeze_write.c) ------------------------------------------------------------------------- */

/* Nodes and warnings into freezing->def. */
MUST_USE Status freezing_write(const Freezing *freezing);
