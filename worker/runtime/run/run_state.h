/* The memory of one run: everything its nodes will need, made once and used by one run after another. A
 * Partition keeps a few idle ones.
 *
 * A Ticket is one thread's turn in a run: it holds the ready nodes that this thread will do. Whatever will
 * continue a run later (queued work, a waiting Recv) counts as a ticket too; the run ends with the last one.
 */
#pragma once

#include "shared/base/list.h"
#include "worker/runtime/memory/run_memory.h"
#include "worker/runtime/memory_account.h"
#include "worker/runtime/run/iteration.h"
#include "worker/runtime/run/late_args.h"
#include "worker/runtime/run/run.h"

/* What a loop's frames and iterations leave behind for the next ones. */
typedef struct FrameStock {
    Frame *frames;
    Iteration *iterations;
} FrameStock;

struct Run {
    int32_t reference_count; /* atomic */
    int32_t ticket_count;    /* atomic */
    bool has_failed;         /* atomic; set once, under the lock */
    bool measures_all;
    uint64_t node_count;      /* atomic: of tickets that ended */
    uint64_t loop_node_count; /* atomic: those of them in loops */
    Partition *partition;
    Rendezvous *rendezvous;
    ResourceContainer *container;
    RunCallbacks callbacks;
    uint64_t deadline_ns;
    uint32_t call_depth; /* calls that it is inside of */
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

    pthread_mutex_t frames_lock;
    ListLink live_frames;
    size_t loop_bytes;  /* of live iterations */
    FrameStock *stocks; /* by frame */

    pthread_mutex_t lock; /* also of the args, when they may come late */
    ListLink promises;    /* kernels that have not completed */
    bool is_done;
    Status code; /* the first failure's */
    Slice error_node;
    char message[2 * ERROR_MESSAGE_SIZE];
};

/* An idle state or a new one, its words and flags reset. NULL without memory. */
MUST_USE Run *run_state_get(Partition *partition);
void run_state_put(Run *run);
void run_states_free(Partition *partition); /* the idle ones */

/* What happens in this run will be noted. False without memory. */
MUST_USE bool run_state_trace(Run *run);
