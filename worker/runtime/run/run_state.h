/* The memory of one run: all that its nodes need, made once and used by one run after another. A Partition
 * keeps a few idle ones in its pool.
 *
 * Anything that will go on with a run later counts as a ticket: a thread's turn, queued work, a waiting
 * _Recv. The run ends with its last ticket (ticket.h). */
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

/* Calls from the lower layers of this folder into the upper ones; run.c fills them in. */
typedef struct RunHooks {
    void (*run_node)(DeviceWork *work); /* runs an Activation's node, on a thread of the device */
    void (*go_on)(DeviceWork *work);    /* goes on with a Resumption, on a thread of the device */
    void (*wake)(Run *run, Status code, const char *message); /* ends all waits of a run that has failed */
    void (*finish)(Run *run);                                 /* ends the run: its last ticket is back */
} RunHooks;

struct Run {
    const RunHooks *hooks;
    int32_t reference_count; /* atomic */
    int32_t ticket_count;    /* atomic */
    int32_t active_count;    /* atomic: those that wait neither for a feed nor for another slot; counted
                              * when feeds may come late */
    bool has_failed;         /* atomic; set once, under `lock` */
    bool measures_all;
    uint64_t node_count;      /* atomic: nodes that ran, added up as tickets end */
    uint64_t loop_node_count; /* atomic: those of them in loops */
    uint64_t computed_ns;     /* atomic: device time, added up as tickets end */
    Partition *partition;
    Rendezvous *rendezvous;
    ResourceContainer *container;
    RunCallbacks callbacks;
    uint64_t deadline_ns;
    uint32_t call_depth; /* depth of the function calls that the run is inside of */
    uint64_t start_ns;
    DeviceWork start_work;
    DeviceLane *lane;  /* of the accelerator; NULL: the run does not use it */
    bool owns_lane;    /* false: it is lent by the run that called this one */
    DeviceFence fence; /* of a lane of its own: passed when the accelerator has done all work of the run */
    bool is_fenced;    /* the fence has been set */
    Arena *arena;      /* the first ticket's scratch memory, kept from run to run */
    Run *next_idle;

    /* The run's part of the device's memory. It is replaced when a tensor of the last run is still alive. */
    MemoryAccount *account;
    MemoryPlan *plan;       /* made for feeds like the last run's; NULL: there is none */
    RunMemory *memory;      /* the arena that the plan describes; NULL: it has none */
    uint64_t fed_bytes;     /* atomic: bytes of feeds, and of received tensors that another account counts */
    uint64_t planned_bytes; /* the planned peak; 0: there is no plan */
    uint64_t reserved;      /* bytes that device->reserved counts for this run */

    Iteration *root;
    Tensor *args;
    LateArg *late_args;    /* one for each arg; NULL: all feeds were there from the start */
    RunTrace *trace;       /* NULL: the run is not traced */
    bool is_device_traced; /* the accelerator is to tell what it did */
    bool marks_device;     /* it is told which node enqueues work: the run's lane may be traced */

    Mutex frames_lock; /* guards the links of loops (iteration.h), and what follows */
    ListLink live_frames;
    size_t loop_bytes;  /* bytes of iterations under way */
    FrameStock *stocks; /* one for each frame of the partition */

    Mutex lock;        /* guards what follows, and args when feeds may come late */
    ListLink promises; /* kernels that have been started and have not completed */
    bool is_done;
    Failure failure; /* the first failure; code STATUS_OK: none */
};

/* Returns an idle state or a new one, reset for a run with one reference and one ticket. NULL without
 * memory. */
MUST_USE Run *run_state_get(Partition *partition);
void run_state_put(Run *run);

/* Begins a trace of the run. False without memory. */
MUST_USE bool run_state_trace(Run *run);

/* Drops the plan and its arena: the next run plans anew. */
void run_state_drop_plan(Run *run);

/* Take an iteration or a frame from the run's stock, or make a new one (NULL without memory), and give it
 * back. Called with the frames_lock held, or when the run has ended. */
MUST_USE Iteration *run_take_iteration(Run *run, uint32_t frame);
void run_put_iteration(Run *run, Iteration *iteration);
MUST_USE Frame *run_take_frame(Run *run, uint32_t frame);
void run_put_frame(Run *run, Frame *frame);

/* Ends all frames of a run that has ended, and releases the tensors still in them. */
void run_clear_frames(Run *run);

static inline bool
run_has_failed(const Run *run)
{
    return atomic_load_relaxed(&run->has_failed);
}
