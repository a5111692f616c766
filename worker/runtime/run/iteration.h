/* A loop while it runs: a Frame, opened by Enters in one iteration of the frame around it (TensorFlow's
 * FrameState), and its iterations that are under way. The root, which is no loop, has one iteration and no
 * Frame.
 *
 * An iteration is a flat block made once and used again: cells, slots and transfers by the numbers that the
 * schedule gives.
 *
 * Threads: what ties iterations and frames together (frame, number, newer, children, all of Frame) is changed
 * under the run's frames_lock; words and `outstanding` are atomic; a slot belongs to whoever fills it, then
 * to the node that reads it. Blocks are never given back to the system while their run lasts, so that a
 * pointer may be stale but never dangles. */
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
    DeviceWork work; /* links it to others that are ready; an expensive one goes to another thread with it */
    uint64_t word;   /* atomic; schedule.h says what it counts */
    Iteration *iteration;
    uint32_t node;
} Activation;

/* A node that waits, and how a thread of the device goes on with it (run_go_on()). */
typedef struct Resumption Resumption;
struct Resumption {
    DeviceWork work; /* first: a DeviceWork is one of these */
    Activation *activation;
    void (*resume)(Ticket *ticket, Resumption *resumption); /* may free the resumption */
};

/* The part of an iteration that a Send or a Recv needs. */
typedef struct Transfer {
    RendezvousWaiter waiter;
    Resumption resumption; /* when the value has come */
    bool is_waiting;       /* atomic */
    RendezvousMessage message;
    Slice key; /* in a loop written to `bytes` when the node runs */
    char *bytes;
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

struct Frame {
    const ScheduleFrame *schedule;
    ListLink live; /* in run->live_frames; alone when idle */
    Frame *next_idle;
    Iteration *parent; /* where it was entered */
    Iteration *oldest; /* NULL between the end of the last and the start of one that waited */
    Iteration *newest;
    uint64_t started;     /* iterations */
    uint32_t live_count;  /* iterations under way */
    uint32_t enters_left; /* that have not fired */
    uint32_t waiting_count;
    Tensor *waiting;   /* by NextIteration: values for an iteration that may not start yet */
    Tensor *constants; /* by constant Enter, once it has fired */
    bool *has_constant;
    bool *has_left; /* atomic; by Exit: it was live */
};

/* Makes an iteration with words and slots empty. NULL without memory. */
MUST_USE Iteration *iteration_new(Run *run, const Partition *partition, uint32_t frame);
void iteration_free(Iteration *iteration); /* NULL is allowed */

/* Sets words and counts as they are before any node has run. */
void iteration_reset(Iteration *iteration);

/* Releases the tensors that nobody took. */
void iteration_clear(Iteration *iteration);

/* Returns which nodes a trace of the iteration is about. */
TraceScope iteration_trace_scope(const Iteration *iteration);

/* Writes the key of a transfer in a loop: its "<send device>;<receive device>;<tensor>;", then
 * "<loop>:<number>", in front of it "<outer loop>:<number>/" for each loop around. */
Slice iteration_key(Iteration *iteration, const ScheduleNode *node);

/* Makes an idle frame, which memory_free() ends. NULL without memory. */
MUST_USE Frame *frame_new(const ScheduleFrame *schedule);
