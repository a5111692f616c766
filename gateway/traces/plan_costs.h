/* Costs of a plan's nodes, merged from the traces of steps with the same partitions that are still in this
 * gateway's memory (TensorFlow's cost model, made of step statistics).
 *
 * Threads: job threads; reading traces takes long. */
#pragma once

#include "gateway/traces/trace_cache.h"
#include "shared/json/writer.h"

enum { PLAN_COSTS_TRACES_MAX = 16 }; /* the newest traces are merged */

typedef struct PlanCostsRequest {
    TenantId tenant;
    const Plan *plan;
} PlanCostsRequest;

/* Writes the member "costs" of an open object: the number of steps, and for each node, the most expensive
 * first, how often it ran and its average cost. Transfers are left out, as they mostly wait. */
MUST_USE Status plan_costs_write(
    Call *call, JsonWriter *writer, TraceCache *traces, const PlanCostsRequest *request);
