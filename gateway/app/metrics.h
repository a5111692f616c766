/* The gateway's numbers, as GET /metrics shows them (shared/telemetry/metrics.h).
 *
 * Threads: any; metrics_watch() main's. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "gateway/graphs/graph_cache.h"
#include "gateway/http/server.h"
#include "gateway/http/tenant_memory.h"
#include "gateway/partials/partial_table.h"
#include "gateway/plan/plan_cache.h"
#include "shared/telemetry/metrics.h"

/* The parts that metrics are read from. */
typedef struct MetricSources {
    Directory *directory;
    PlanCache *plans;
    GraphCache *graphs;
    JobPool *jobs;
    TenantMemory *outputs;
    TenantMemory *bodies;
    PartialTable *partials;
} MetricSources;

/* Reads these from now on; NULL: none. They outlive the reading. */
void metrics_watch(const MetricSources *sources);

void metrics_count_request(const RequestRecord *record);

/* Returns the tables of all metrics, for GET /metrics. */
const MetricTable *metrics_all(size_t *ret_count);
