/* The order of nodes, which runs before which, whatever the order and the number of threads: a directed graph
 * without cycles as rows of predecessors, and the question of its ancestors, answered for 64 nodes in one
 * sweep.
 *
 * Ownership: lives in the arena it was made in.
 * Threads:   immutable.
 * Errors:    false without memory. */
#pragma once

#include "worker/runtime/partition/schedule.h"

enum { FLOW_SWEEP_MAX = 64 };

typedef struct Flow {
    uint32_t node_count;
    const uint32_t *order;  /* every node behind its predecessors */
    const uint32_t *starts; /* node_count + 1: where each node's row begins in `before` */
    const uint32_t *before; /* the rows: each node's predecessors */
} Flow;

/* Makes the flow of a partition's nodes, by data and control edges, without constants that never run and
 * without loops' back edges. */
MUST_USE bool flow_new(Arena *arena, const Partition *partition, Flow *ret_flow);

/* Finds which of up to FLOW_SWEEP_MAX marked nodes run before each other node. */
typedef struct FlowSweep {
    const Flow *flow;
    uint32_t marked[FLOW_SWEEP_MAX];
    uint32_t marked_count;
    uint8_t *bits;    /* by node: its index in `marked` plus one; 0: it is not there */
    uint64_t *before; /* by node, once swept: bit i: marked[i] comes before it */
} FlowSweep;

MUST_USE bool flow_sweep_new(Arena *arena, const Flow *flow, FlowSweep *ret_sweep);
/* Marks a node. False when the sweep is full: run it, ask it and clear it first. */
bool flow_sweep_mark(FlowSweep *sweep, uint32_t node);
void flow_sweep_run(FlowSweep *sweep);
void flow_sweep_clear(FlowSweep *sweep);

/* The bit of a marked node. */
static inline uint64_t
flow_sweep_bit(const FlowSweep *sweep, uint32_t node)
{
    return (uint64_t)1 << (sweep->bits[node] - 1);
}
