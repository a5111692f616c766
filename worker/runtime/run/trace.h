/* What a traced run notes of its nodes: a record for its root and one for each iteration of each loop, with
 * room for every node in it. The records of loops take so many bytes and no more: of the iterations that
 * start later nothing is noted, they are counted.
 *
 * Ownership: a RunTrace owns its records.
 * Threads:   records of loops are added under the run's frames_lock; a node's room belongs to the thread that
 *            runs the node. */
#pragma once

#include "worker/runtime/kernel.h"

/* The times of a node, on the monotonic clock, and what it took. An end of 0: it did not run (dead, bound
 * at compile time, or skipped after an error). A Recv runs until its value is there. */
typedef struct NodeTrace {
    uint64_t scheduled_ns;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t output_bytes;    /* that it made or passed on */
    uint64_t allocated_bytes; /* those of them that were nobody's before */
    uint64_t scratch_bytes;   /* of its arena, while it ran */
    uint64_t device_bytes;    /* in use on the device when it ended, also for other runs */
    uint32_t thread;          /* a small number, one a thread of the process */
    bool was_pulled;          /* a Recv had to ask for its value */
} NodeTrace;

typedef struct IterationTrace IterationTrace;
struct IterationTrace {
    IterationTrace *next;
    const IterationTrace *around; /* NULL: this is the root */
    uint64_t number;              /* of the iteration */
    uint32_t frame;               /* of the partition */
    uint32_t index;               /* of the record; 0 is the root's */
    const uint32_t *numbers;      /* of the nodes, in the partition */
    uint32_t node_count;
    NodeTrace nodes[];
};

typedef struct RunTrace {
    IterationTrace *root; /* the first; the others follow */
    IterationTrace *last;
    size_t loop_bytes;
    uint32_t count;
    uint64_t left_out_count; /* iterations */
} RunTrace;

enum { TRACE_LOOP_BYTES_MAX = 4 << 20 };

/* The scope of a record: the root or a loop of a partition, and the nodes in it. */
typedef struct TraceScope {
    uint32_t frame;
    const uint32_t *numbers;
    uint32_t node_count;
} TraceScope;

/* Makes a trace with a record for the root. NULL without memory. */
MUST_USE RunTrace *run_trace_new(const TraceScope *root);
void run_trace_free(RunTrace *trace); /* NULL is allowed */

/* Adds a record for an iteration that starts; NULL: it is left out, and so is all that runs inside one
 * that was (`around` is NULL then). */
IterationTrace *run_trace_iteration(
    RunTrace *trace, const TraceScope *loop, const IterationTrace *around, uint64_t number);

/* The node has run, on this thread, before its outputs are passed on. `trace` may be NULL. */
void trace_end(NodeTrace *trace, Device *device, const Tensor *outputs, uint32_t output_count);

/* Notes that a kernel has run, as trace_end(); its inputs tell which outputs are new. */
void trace_kernel(NodeTrace *trace, const KernelContext *context);
