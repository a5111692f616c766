/* The records of a traced run's nodes: one for the root and one for each iteration of each loop, with room
 * for every node in it; and the traces of the functions that its nodes called. The records of loops may take
 * TRACE_LOOP_BYTES_MAX in all, and the traces of functions TRACE_CALL_BYTES_MAX; iterations that start and
 * functions that end later are counted, but not recorded.
 *
 * Ownership: a RunTrace owns its records and the traces of functions, whose partitions outlive it.
 * Threads:   records of loops are added under the run's frames_lock; a node's room belongs to the thread
 *            that runs the node; functions may end on several threads at once. */
#pragma once

#include "worker/runtime/kernel.h"
#include "worker/runtime/partition/partition.h"

/* The times of one node, on the monotonic clock in ns, and what it took. end_ns is 0 when the node did not
 * run: it was dead, bound at compile time, or dropped after a failure. A _Recv runs until its value has
 * come. */
typedef struct NodeTrace {
    uint64_t scheduled_ns;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t output_bytes;    /* sum of the outputs that it made or passed on */
    uint64_t allocated_bytes; /* the part of that sum that it allocated itself */
    uint64_t scratch_bytes;   /* bytes that its kernel took from the call's arena */
    uint64_t device_bytes;    /* bytes in use on the device when the node ended, by other runs too */
    uint32_t thread;          /* a small number, different for each thread of the process */
    bool was_pulled;          /* a _Recv had to ask a peer for its value */
} NodeTrace;

typedef struct RunTrace RunTrace;

typedef struct IterationTrace IterationTrace;
struct IterationTrace {
    IterationTrace *next;
    RunTrace *trace;              /* the trace that it is of */
    const IterationTrace *around; /* the iteration that the loop was entered from; NULL: this is the root */
    uint64_t number;              /* the iteration's number in its loop */
    uint32_t frame;               /* number of the loop in the partition; 0: the root */
    uint32_t index;               /* the record's number in the trace; 0: the root's */
    const uint32_t *numbers;      /* one for each of `nodes`: the node's number in the partition */
    uint32_t node_count;
    NodeTrace nodes[];
};

/* The trace of a function that a node called. */
typedef struct CallTrace CallTrace;
struct CallTrace {
    CallTrace *next;
    const IterationTrace *around; /* the caller's record */
    const Partition *function;
    RunTrace *trace;
};

struct RunTrace {
    IterationTrace *root; /* the first record; the others follow by `next` */
    IterationTrace *last;
    size_t loop_bytes;
    uint32_t count;
    uint64_t left_out_count;  /* iterations that are not recorded */
    CallTrace *calls;         /* atomic: the functions, the last one first */
    uint64_t call_bytes;      /* atomic: what their traces take, and those of what they called */
    uint64_t lost_call_count; /* atomic: functions whose traces are not kept */
    DeviceReport device;      /* what the accelerator did; without a source: nobody has told */
};

enum { TRACE_LOOP_BYTES_MAX = 4 << 20, TRACE_CALL_BYTES_MAX = 4 << 20 };

/* The root or a loop of a partition, and the nodes in it. */
typedef struct TraceScope {
    uint32_t frame;
    const uint32_t *numbers;
    uint32_t node_count;
} TraceScope;

/* Makes a trace with a record for the root. NULL without memory. */
MUST_USE RunTrace *run_trace_new(const TraceScope *root);
void run_trace_free(RunTrace *trace); /* NULL is allowed */

/* Adds a record for an iteration that starts. NULL when it is left out: there is no room, or the iteration
 * around it was left out (`around` is NULL). */
IterationTrace *run_trace_iteration(
    RunTrace *trace, const TraceScope *loop, const IterationTrace *around, uint64_t number);

/* Takes the trace of the run of a function that a node of the record called, or frees it: there is no room
 * for it. */
void run_trace_add_call(const IterationTrace *caller, const Partition *function, RunTrace *trace);

/* Returns the mark (Device.mark) of a node that has a record; 0: its numbers are too large for one. */
uint64_t trace_mark(const IterationTrace *record, uint32_t cell);

/* Finds the node and the iteration of a mark. False: the mark is of none. */
bool trace_mark_read(uint64_t mark, uint32_t *ret_node, uint32_t *ret_iteration);

/* Notes that a node has run, on this thread. Called before its outputs are passed on; `trace` may be NULL. */
void trace_end(NodeTrace *trace, Device *device, const Tensor *outputs, uint32_t output_count);

/* Notes that a kernel has run, as trace_end() does, with what it took. Called before its inputs are
 * released, which tell which outputs are new. */
void trace_kernel(NodeTrace *trace, const KernelContext *context);
