/* A graph that has been deleted leaves the caches of this gateway, with what was made of it; steps that run
 * it now end as they would.
 *
 * Threads: any. */
#pragma once

#include "gateway/store/graphs.h"

typedef struct Gateway Gateway;

typedef struct GraphName {
    TenantId tenant;
    SessionId session;
    GraphId id;
} GraphName;

void graph_forget(const Gateway *gateway, const GraphName *graph);
