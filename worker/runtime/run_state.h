/* The memory of one run: everything its nodes will need, in one block, made once and used by one run after
 * another. A Partition keeps a few idle ones.
 *
 * A Ticket is one thread's turn in a run: it holds the ready nodes that this thread will do. Whatever will
 * continue a run later (queued work, a waiting Recv) counts as a ticket too; the run ends with the last one.
 */
#pragma once

#include "worker/runtime/run.h"
#include "worker/runtime/schedule.h"

/* An expensive node on its way to another thread. */
typedef struct RunWork {
    DeviceWork work;
    Run *run;
    uint32_t node;
} RunWork;

typedef struct RunReceive {
    RendezvousWaiter waiter;
    DeviceWork work; /* continues the run when the value came */
    Run *run;
    uint32_t node;
    bool is_waiting; /* atomic */
    RendezvousMessage message;
} RunReceive;

struct Run {
    int32_t reference_count; /* atomic */
    int32_t ticket_count;    /* atomic */
    bool has_failed;         /* atomic; set once, under the lock */
    bool measures_all;
    uint32_t node_count; /* atomic: of tickets that ended */
    Partition *partition;
    Rendezvous *rendezvous;
    RunCallbacks callbacks;
    uint64_t deadline_ns;
    uint64_t start_ns;
    DeviceWork start_work;
    Arena *arena; /* the first ticket's, kept from run to run */
    Run *next_idle;

    /* By node. */
    uint64_t *words; /* atomic; schedule.h says what they count */
    uint32_t *next;  /* links the ready nodes of a ticket */
    RunWork *works;
    NodeTrace *traces; /* NULL: not asked for */

    Tensor *slots;
    Tensor *args;
    RunReceive *receives; /* by transfer */

    pthread_mutex_t lock;
    bool is_done;
    Status code; /* the first failure's */
    Slice error_node;
    char message[2 * ERROR_MESSAGE_SIZE];
};

/* An idle state or a new one, its words and flags reset. NULL without memory. */
MUST_USE Run *run_state_get(Partition *partition);
void run_state_put(Run *run);
void run_states_free(Partition *partition); /* the idle ones */

/* Room for the traces of this run. */
MUST_USE bool run_state_trace(Run *run);
