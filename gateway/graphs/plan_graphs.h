/* Graphs of a plan's partitions, each as its worker runs it: assigned, optimised, with Sends and Recvs;
 * constants that travel apart are named by their digests.
 *
 * Errors: OUT_OF_RANGE when they take more than PLAN_GRAPHS_SIZE_MAX bytes. */
#pragma once

#include "gateway/plan/plan.h"
#include "shared/json/writer.h"

enum { PLAN_GRAPHS_SIZE_MAX = 16 << 20 };

/* Writes the member "partition_graphs" of an open object. */
MUST_USE Status plan_graphs_write(Call *call, JsonWriter *writer, const Plan *plan);

/* Draws all of them as one Graphviz document. */
MUST_USE Status plan_graphs_draw(Call *call, Buffer *buffer, const Plan *plan);
