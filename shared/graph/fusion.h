/* Which nodes can be computed on the way by the only ones that read them: groups with one result.
 *
 * Every reader of a node in a group is in the group, but for those of its root, whose output is the group's.
 * So a group never waits for what waits for it, on this worker or on another, and when one of its inputs is
 * dead, so is its root. Nothing inside waits for a control edge or is waited for.
 *
 * Threads: pure. Errors: RESOURCE_EXHAUSTED. */
#pragma once

#include "shared/graph/graph.h"

enum { FUSION_INPUTS_MAX = 64 }; /* of all nodes of a group together */

/* Whether the node can be computed with its readers; where it runs: nodes at different places never join. */
typedef struct FusionRule {
    const void *context;
    bool (*may_join)(const void *context, const Node *node);
    const uint32_t *places; /* by node; NULL: all are at one */
} FusionRule;

/* Of each node the root of its group, in the call's arena; a node alone is its own. */
MUST_USE Status graph_find_fusions(
    Call *call, const Graph *graph, const FusionRule *rule, uint32_t **ret_roots);
