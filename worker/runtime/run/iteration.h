/* The memory of one turn through a frame: the root's, of which a run has one, or a loop's. A flat block made
 * once and used again: cells, slots and transfers by the numbers that the schedule gives.
 *
 * Threads: what an iteration belongs to (frame, number, newer, children) is changed under the run's
 *          frames_lock; words and `outstanding` are atomic; a slot belongs to whoever fills it, then to the
 *          node that reads it. Blocks are never given back to the system while their run lasts, so that a
 *          pointer may be stale but never dangles. */
#pragma once

#include "worker/runtime/partition/schedule.h"
#include "worker/runtime/run/rendezvous.h"
#include "worker/runtime/run/trace.h"

typedef struct Iteration Iteration;
typedef struct Frame Frame;

/* One node in one iteration. */
typedef struct Activation {
    DeviceWork work; /* links it to others that are ready; an expensive one goes to another thread with it */
    uint64_t word;   /* atomic; schedule.h says what it counts */
    Iteration *iteration;
    uint32_t node;
} Activation;

/* A Send's or a Recv's. */
typedef struct Transfer {
    RendezvousWaiter waiter;
    DeviceWork work; /* continues the run when the value came */
    Activation *activation;
    bool is_waiting; /* atomic */
    RendezvousMessage message;
    Slice key;   /* in a loop written when the node runs … */
    char *bytes; /* … to here */
} Transfer;

struct Iteration {
    Run *run;
    const ScheduleFrame *schedule;
    size_t size;      /* of the block, in bytes */
    Frame *frame;     /* NULL: the root */
    Iteration *newer; /* the next one of the same frame; of an idle one the next idle */
    uint64_t number;
    int32_t outstanding;   /* atomic: nodes that are ready or running; not counted for the root */
    uint32_t child_count;  /* frames entered from here */
    IterationTrace *trace; /* NULL: nobody asked, or it is left out */
    Activation *activations;
    Tensor *slots;
    Transfer *transfers;
    Frame **children; /* by ScheduleFrame.child_index */
};

/* With words and slots empty. NULL without memory. */
MUST_USE Iteration *iteration_new(Run *run, uint32_t frame);
void iteration_free(Iteration *iteration); /* NULL is allowed */

void iteration_reset(Iteration *iteration);

/* Gives the tensors back that nobody took. */
void iteration_clear(Iteration *iteration);

/* What a trace of it is about. */
TraceScope iteration_trace_scope(const Iteration *iteration);

/* Writes the key of a transfer in a loop: its "<send device>;<receive device>;<tensor>;", then
 * "<loop>:<number>", in front of it "<outer loop>:<number>/" for each loop around. */
Slice iteration_key(Iteration *iteration, const ScheduleNode *node);
