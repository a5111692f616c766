/* A plan from the cache, compiled here when nobody has it, awaited when somebody compiles it already.
 *
 * Threads: job threads only: it may wait.
 * Errors:  those of plan_compile(); DEADLINE_EXCEEDED when the other's compilation takes longer than the call
 *          has time. */
#pragma once

#include "gateway/graphs/graph_cache.h"
#include "gateway/plan/plan_cache.h"

MUST_USE Status plan_obtain(Call *call, PlanCache *cache, const PlanRequest *request, Plan **ret_plan);

/* For graph_cache_on_evict(), with the PlanCache as context: plans hold constants of their graph, and go with
 * it. Any thread. */
void plans_forget(void *plans, const GraphSnapshot *graph);
