/* The memory of loops that run: a Frame is one instance of a loop, opened by Enters in one iteration of
 * the frame around it (TensorFlow's FrameState), and has the iterations that are under way. The root,
 * which is no loop, has one Iteration and no Frame.
 *
 * An Iteration is one flat block, made once and used again, with cells, slots and transfers at the indices
 * that the schedule gives (schedule.h).
 *
 * Threads: links between iterations and frames (frame, number, newer, children, all of Frame) are changed
 *          under the run's frames_lock; words and `outstanding` are atomic; a slot belongs to whoever fills
 *          it, then to the node that reads it. Blocks are not freed while their run lasts: a pointer may be
 *          stale, but never dangles. */
#pragma once

#include "shared/base/list.h"
#include "worker/runtime/partition/schedule.h"
#include "worker/runtime/run/rendezvous.h"
#include "worker/runtime/run/trace.h"

typedef struct Iteration Iteration;
typedef struct Frame Frame;
typedef struct Run Run;
typedef struct Ticket Ticket;

/* One node in one iteration. */
typedef struct Activation {
    DeviceWork work; /* links it to other ready nodes, or hands it to another thread */
    uint64_t word;   /* atomic: inputs it waits for, and dead ones (schedule.h) */
    Iteration *iteration;
    uint32_t node;
} Activation;

/* A node that waits, and the function that goes on with it on a thread of the device (run_go_on()). */
typedef struct Resumption Resumption;
struct Resumption {
    DeviceWork work; /* first: a DeviceWork is one of these */
    Activation *activation;
    void (*resume)(Ticket *ticket, Resumption *resumption); /* may free the resumption */
};

/* The state of a _Send or _Recv in one iteration. */
typedef struct Transfer {
    RendezvousWaiter waiter;
    Resumption resumption; /* goes on with a _Recv that had to wait */
    bool is_waiting;       /* atomic */
    RendezvousMessage message;
    Slice key; /* the schedule's; in a loop, written to `bytes` when the node runs */
    char *bytes;
} Transfer;

struct Iteration {
    Run *run;
    const ScheduleFrame *schedule;
    size_t size;      /* bytes of the whole block */
    Frame *frame;     /* NULL: this is the root */
    Iteration *newer; /* the next iteration of the same frame; when idle, the next idle one */
    uint64_t number;
    int32_t outstanding;   /* atomic: nodes that are ready, running or waiting; 0 in the root */
    uint32_t child_count;  /* open frames that were entered from here */
    IterationTrace *trace; /* NULL: the run is not traced, or this iteration is left out */
    Activation *activations;
    Tensor *slots;
    Transfer *transfers;
    Frame **children; /* indexed by ScheduleFrame.child_index */
};

struct Frame {
    const ScheduleFrame *schedule;
    ListLink live; /* link in run->live_frames; alone when idle */
    Frame *next_idle;
    Iteration *parent; /* the iteration that it was entered from */
    Iteration *oldest; /* NULL between the end of the last one and the start of one that waited */
    Iteration *newest;
    uint64_t started;     /* iterations so far; the number of the next one */
    uint32_t live_count;  /* iterations under way */
    uint32_t enters_left; /* Enters that have not fired */
    uint32_t waiting_count;
    Tensor *waiting;   /* by NextIteration: its value for an iteration that may not start yet */
    Tensor *constants; /* by constant Enter: its value once it has fired; absent when dead */
    bool *has_constant;
    bool *has_left; /* atomic; by Exit: it was live in some iteration */
};

/* Makes an iteration whose slots are empty; iteration_reset() makes it ready to run. NULL without memory. */
MUST_USE Iteration *iteration_new(Run *run, const Partition *partition, uint32_t frame);
void iteration_free(Iteration *iteration); /* NULL is allowed */

/* Sets words and counts to what they are before any node has run. */
void iteration_reset(Iteration *iteration);

/* Releases the tensors that are still in slots. */
void iteration_clear(Iteration *iteration);

/* Returns the loop and the nodes that a trace of the iteration is about. */
TraceScope iteration_trace_scope(const Iteration *iteration);

/* Writes the key of a transfer in a loop and returns it: "<send device>;<receive device>;<tensor>;", then
 * "<outer loop>:<number>/" for each loop around, then "<loop>:<number>". It lives in the iteration. */
Slice iteration_key(Iteration *iteration, const ScheduleNode *node);

/* Makes an idle frame, which is freed with memory_free(). NULL without memory. */
MUST_USE Frame *frame_new(const ScheduleFrame *schedule);
