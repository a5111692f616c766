/* The memory of one run: everything its nodes will need, made once and used by one run after another. A
 * Partition keeps a few idle ones in its pool.
 *
 * Whatever will continue a run later (a thread's turn, queued work, a waiting Recv) counts as a ticket; the
 * run ends with the last one (ticket.h). */
#pragma once

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/mutex.h"
#include "worker/runtime/memory/run_memory.h"
#include "worker/runtime/memory_account.h"
#include "worker/runtime/run/iteration.h"
#include "worker/runtime/run/run_request.h"

typedef struct LateArg LateArg;

/* Idle frames and iterations of one loop. */
typedef struct FrameStock {
    Frame *frames;
    Iteration *iterations;
} FrameStock;

/* Calls from the lower layers of this folder to the upper ones (run.c fills them in). */
typedef struct RunHooks {
    void (*run_node)(DeviceWork *work); /* on a device's thread: an Activation's node is ready */
    void (*go_on)(DeviceWork *work);    /* on a device's thread: a Resumption's node has what it waited for */
    void (*wake)(Run *run, Status code, const char *message); /* ends all waiting: the run has failed */
    void (*finish)(Run *run);                                 /* the last ticket is back */
} RunHooks;

struct Run {
    const RunHooks *hooks;
    int32_t reference_count; /* atomic */
    int32_t ticket_count;    /* atomic */
    bool has_failed;         /* atomic; set once, under `lock` */
    bool measures_all;
    uint64_t node_count;      /* atomic: of tickets that ended */
    uint64_t loop_node_count; /* atomic: those of them in loops */
    Partition *partition;
    Rendezvous *rendezvous;
    ResourceContainer *container;
    RunCallbacks callbacks;
    uint64_t deadline_ns;
    uint32_t call_depth; /* calls of functions that it is inside of */
    uint64_t start_ns;
    DeviceWork start_work;
    Arena *arena; /* the first ticket's, kept from run to run */
    Run *next_idle;

    MemoryAccount
        *account;       /* what it holds of the device's memory; made anew when something outlived a run */
    MemoryPlan *plan;   /* for feeds like those of the last run; NULL: none */
    RunMemory *memory;  /* the plan's arena; NULL: it has none */
    uint64_t fed_bytes; /* atomic: of feeds, and of what came from slots whose account it stays on */
    uint64_t planned_bytes; /* the peak expected when it started; 0: there is no plan */
    uint64_t reserved;      /* of the device's memory */

    Iteration *root;
    Tensor *args;
    LateArg *late_args; /* by arg; NULL: all are there from the start */
    RunTrace *trace;    /* NULL: not asked for */

    Mutex frames_lock; /* guards loops (iteration.h) and the following */
    ListLink live_frames;
    size_t loop_bytes;  /* of live iterations */
    FrameStock *stocks; /* by frame */

    Mutex lock;        /* guards the following, and the args when they may come late */
    ListLink promises; /* kernels that have not completed */
    bool is_done;
    Failure failure; /* the first one; STATUS_OK: none */
};

/* Returns an idle state or a new one, its words and flags reset. NULL without memory. */
MUST_USE Run *run_state_get(Partition *partition);
void run_state_put(Run *run);

/* Begins a trace of this run. False without memory. */
MUST_USE bool run_state_trace(Run *run);

/* Forgets the plan and the arena: the next run plans anew. */
void run_state_drop_plan(Run *run);

/* The following four take what a loop has left behind, and give it back, under the frames_lock. NULL without
 * memory. */
MUST_USE Iteration *run_take_iteration(Run *run, uint32_t frame);
void run_put_iteration(Run *run, Iteration *iteration);
MUST_USE Frame *run_take_frame(Run *run, uint32_t frame);
void run_put_frame(Run *run, Frame *frame);

/* Ends all frames of a run that has ended, with the tensors that are still in them. */
void run_clear_frames(Run *run);

static inline bool
run_has_failed(const Run *run)
{
    return atomic_load_relaxed(&run->has_failed);
}
