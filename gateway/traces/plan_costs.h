/* What the nodes of a plan have cost, as traced steps told: of every step of the same partitions whose trace
 * is still in this gateway's memory, merged (TensorFlow's cost model, made of step statistics).
 *
 * Threads: job threads; reading traces takes its time. */
#pragma once

#include "gateway/traces/trace_cache.h"
#include "shared/json/writer.h"

enum { PLAN_COSTS_TRACES_MAX = 16 }; /* the newest */

typedef struct PlanCostsRequest {
    TenantId tenant;
    const Plan *plan;
} PlanCostsRequest;

/* A member "costs" of an open object: how many steps were merged, and of each node that ran in them, the
 * dearest first, how often it did and what a run cost on average. Transfers, which wait, are not told. */
MUST_USE Status plan_costs_write(
    Call *call, JsonWriter *writer, TraceCache *traces, const PlanCostsRequest *request);
