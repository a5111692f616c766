/* Plans from the cache: a missing plan is compiled here, or awaited when another job thread compiles it
 * already. Those are steps of the same tenant, whose long jobs have a share of the threads (job_pool.h), so
 * that others never wait with them.
 *
 * Threads: job threads only, in a job that is long: it may wait.
 * Errors:  those of plan_compile(); DEADLINE_EXCEEDED when the other's compilation takes longer than the
 * call has time. */
#pragma once

#include "gateway/graphs/graph_cache.h"
#include "gateway/plan/plan_cache.h"

MUST_USE Status plan_obtain(Call *call, PlanCache *cache, const PlanRequest *request, Plan **ret_plan);

/* Drops the plans of a graph that has left the cache, as they hold its constants. For
 * graph_cache_on_evict(), with the PlanCache as context. Any thread. */
void plans_forget(void *plans, const GraphSnapshot *graph);
