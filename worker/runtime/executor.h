/* How a run moves on: nodes become ready, are done inline or handed to the device's threads, and pass their
 * outputs on. The rules are TensorFlow's executor (pending counts, dead tensors, Merge).
 *
 * Threads: a Ticket belongs to one thread; everything it shares with other tickets of the run is atomic. */
#pragma once

#include "worker/runtime/run_state.h"

typedef struct Ticket {
    Run *run;
    const Partition *partition;
    uint32_t first; /* ready nodes, first in first out, linked by run->next */
    uint32_t last;
    uint32_t kept; /* an expensive ready node, done here unless something cheap waits */
    uint32_t node_count;
    Call call;
    Tensor outputs[STACK_OUTPUTS];
} Ticket;

/* For one kernel, not for a run: the arena is emptied behind each node that used it. */
static const size_t SCRATCH_MAX = (size_t)1 << 30;

/* `arena` for the kernels' scratch memory; the ticket empties and replaces it when it was used. */
void ticket_begin(Ticket *ticket, Run *run, Arena *arena);

/* Runs ready nodes until none is left, and gives the ticket back. Returns the arena. */
MUST_USE Arena *ticket_run(Ticket *ticket);

/* Gives a ticket back that ran nothing; ends the run if it was the last. */
void ticket_drop(Run *run);

void ticket_ready(Ticket *ticket, uint32_t node);

/* Passes a finished node's outputs on: each into its consumers' slots, the last consumer of a port by move;
 * what nobody takes is given back. A dead node's consumers get nothing but its deadness. */
void ticket_propagate(Ticket *ticket, const ScheduleNode *node, Tensor *outputs, bool is_dead);

/* The first failure of a run stops it. `node` may be empty. */
void run_fail(Run *run, Status code, const char *message, Slice node);

static inline bool
run_has_failed(const Run *run)
{
    return __atomic_load_n(&run->has_failed, __ATOMIC_RELAXED);
}

/* Does one node: its kernel, or what the executor does itself (nodes.c). */
void node_run(Ticket *ticket, uint32_t id);

/* When the last ticket is back (run.c). */
void run_finish(Run *run);
