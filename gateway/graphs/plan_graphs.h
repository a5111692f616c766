/* The graphs of a plan's partitions, each as its worker runs it: placed, optimised, with Sends and Recvs;
 * constants that travel apart are named by their digests.
 *
 * Errors: OUT_OF_RANGE when they take more than PLAN_GRAPHS_SIZE_MAX bytes. */
#pragma once

#include "gateway/plan/plan.h"
#include "shared/json/writer.h"

enum { PLAN_GRAPHS_SIZE_MAX = 16 << 20 };

/* A member "partition_graphs" of an open object. */
MUST_USE Status plan_graphs_write(Call *call, JsonWriter *writer, const Plan *plan);

/* All of them as one drawing of Graphviz. */
MUST_USE Status plan_graphs_draw(Call *call, Buffer *buffer, const Plan *plan);
