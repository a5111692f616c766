/* The partial order in which a partition's nodes run, whatever the schedule and the number of threads: a
 * directed graph without cycles, stored as rows of predecessors. A sweep finds for up to 64 nodes at once
 * which other nodes they always come before.
 *
 * Ownership: lives in the arena it was made in.
 * Threads:   a Flow is immutable; a FlowSweep belongs to one thread.
 * Errors:    false without memory. */
#pragma once

#include "worker/runtime/partition/schedule.h"

enum { FLOW_SWEEP_MAX = 64 };

typedef struct Flow {
    uint32_t node_count;
    const uint32_t *order;  /* nodes in topological order: each behind its predecessors */
    const uint32_t *starts; /* node_count + 1: where each node's row begins in `before` */
    const uint32_t *before; /* rows of direct predecessors, by data or control edge */
} Flow;

/* Makes the flow of a partition's nodes from their data and control edges. Edges of SCHEDULE_STATIC nodes,
 * which never run, and the back edges of loops are left out. */
MUST_USE bool flow_new(Arena *arena, const Partition *partition, Flow *ret_flow);

/* A question to the flow: which of up to FLOW_SWEEP_MAX marked nodes run before each other node. Mark
 * nodes, run the sweep, read `before`, clear it for the next ones. */
typedef struct FlowSweep {
    const Flow *flow;
    uint32_t marked[FLOW_SWEEP_MAX];
    uint32_t marked_count;
    uint8_t *bits;    /* by node: its index in `marked` plus one; 0: not marked */
    uint64_t *before; /* by node, once run; bit i: marked[i] always comes before it */
} FlowSweep;

MUST_USE bool flow_sweep_new(Arena *arena, const Flow *flow, FlowSweep *ret_sweep);
/* Marks a node; marking it again changes nothing. False when the sweep is full: run it, read it and clear
 * it first. */
bool flow_sweep_mark(FlowSweep *sweep, uint32_t node);
void flow_sweep_run(FlowSweep *sweep);
void flow_sweep_clear(FlowSweep *sweep);

/* Returns the bit that stands for a marked node in `before`. */
static inline uint64_t
flow_sweep_bit(const FlowSweep *sweep, uint32_t node)
{
    return (uint64_t)1 << (sweep->bits[node] - 1);
}
