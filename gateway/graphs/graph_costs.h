/* Memory that graphs take together: a definition that several of them hold, such as a part of an extended
 * graph, counts once.
 *
 * Ownership: points to the definitions of graphs that were added and not removed yet.
 * Threads:   one at a time. */
#pragma once

#include "shared/base/map.h"
#include "shared/graph/graph.h"

typedef struct GraphCosts {
    Map *defs; /* GraphDef * → HeldDef */
    size_t byte_size;
} GraphCosts;

/* False without memory. */
MUST_USE bool graph_costs_init(GraphCosts *costs);
void graph_costs_done(GraphCosts *costs);

/* False without memory: nothing has changed. */
MUST_USE bool graph_costs_add(GraphCosts *costs, const Graph *graph);
void graph_costs_remove(GraphCosts *costs, const Graph *graph);

/* Returns the bytes of a graph alone: its nodes and links, its definitions, and the sources that they
 * point into. */
size_t graph_cost(const Graph *graph);
