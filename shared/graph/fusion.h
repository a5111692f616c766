/* Groups of nodes that can be computed together, since only the group reads what is inside.
 *
 * Every reader of a node in a group is in the group, except those of the root, whose output is the
 * group's. So a group never waits for a node that waits for the group, on this worker or on another, and
 * when one of its inputs is dead, so is its root. No node inside has a control edge in or out.
 *
 * Threads: pure.
 * Errors:  RESOURCE_EXHAUSTED. */
#pragma once

#include "shared/graph/graph.h"

enum { FUSION_INPUTS_MAX = 64 }; /* of all nodes of a group together */

/* Tells which nodes may be computed with their readers, and the slots of nodes: nodes on different slots
 * never join. */
typedef struct FusionRule {
    const void *context;
    bool (*may_join)(const void *context, const Node *node);
    const uint32_t *slots; /* by node; NULL when all are on one slot */
} FusionRule;

/* Returns the root of each node's group, in the call's arena. A node that joins none is its own root. */
MUST_USE Status graph_find_fusions(
    Call *call, const Graph *graph, const FusionRule *rule, uint32_t **ret_roots);
