/* Plans of graphs written down in a test (graph_literals.h), and partitions as text to compare. */
#pragma once

#include "gateway/plan/plan.h"

typedef struct PlanLiteral {
    const char *graph;
    const char *feeds; /* names separated by blanks; NULL: none */
    const char *fetches;
    const char *targets;
    PlacementPolicy placement;
    uint32_t slot_count;     /* 0 means 1 */
    uint32_t slot_count_max; /* 0: as many as a plan can have */
    bool has_soft_placement;
    bool allows_tf32;
    Dtype feed_dtype;   /* DTYPE_INVALID: the graph's own */
    const char *passes; /* optimising passes that may run, separated by blanks, "*": all; NULL: none */
} PlanLiteral;

/* Plans a graph that is expanded and linked against the real ops. All but the plan lives in call->arena. */
MUST_USE Status plan_literal(Call *call, const PlanLiteral *literal, Plan **ret_plan);
/* Plans a graph that is linked already, in place of the literal's. */
MUST_USE Status plan_literal_of(Call *call, const PlanLiteral *literal, const Graph *graph, Plan **ret_plan);

/* Returns the partition's document read back, a node a line: "y = Add(x, _recv_w_0, ^z)". */
const char *plan_partition_text(Call *call, const Plan *plan, size_t partition);

/* Plans a graph with the one feed "x" and returns its only partition as plan_partition_text() does, without
 * the lines of feeds and fetches. `fetches` NULL: "r"; `passes` NULL: all. */
const char *plan_rewritten_text(Call *call, const char *graph, const char *fetches, const char *passes);

/* Returns the slot and the reason, "1 next to its input 'x'"; NULL when the plan decides nothing for the
 * node. */
const char *plan_decision_text(Call *call, const Plan *plan, const char *node);
