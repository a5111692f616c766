/* A ticket is one thread's turn in a run: it holds the ready nodes that this thread will run, and passes the
 * outputs of finished ones on, which makes others ready. The rules are TensorFlow's executor (pending counts,
 * dead tensors, Merge).
 *
 * A node's life in an iteration: its word counts down with every edge that fires; at zero it is ready, and
 * whoever brought it there owns it from then on. Cheap nodes queue in the ticket, expensive ones go to the
 * device's threads but for one, which stays on this thread. executor.c runs them.
 *
 * Threads: a Ticket belongs to one thread; everything it shares with other tickets of the run is atomic. */
#pragma once

#include "shared/base/atomic.h"
#include "worker/runtime/run/run_state.h"

struct Ticket {
    Run *run;
    const Partition *partition;
    Activation *first; /* ready nodes, first in first out, linked by their work */
    Activation *last;
    Activation *kept;     /* an expensive ready node, run here unless something cheap waits */
    Iteration *iteration; /* of the node that is running */
    int32_t readied; /* nodes of that iteration that it made ready, or made wait, and that count with this
                        ticket */
    uint32_t node_count;
    uint32_t loop_node_count;
    MemoryAccount *charged; /* whom this thread charged before */
    Call call;
    Tensor outputs[STACK_OUTPUTS];
};

/* The limit is one kernel's, not a run's: the arena is emptied after each node that used it. */
static const size_t SCRATCH_MAX = (size_t)1 << 30;

/* `arena` is the kernels' scratch memory; the ticket empties and replaces it when it was used. */
void ticket_begin(Ticket *ticket, Run *run, Arena *arena);

/* Gives back a ticket that ran nothing, or has run all it had; ends the run if it was the last. */
void ticket_drop(Run *run);

/* A node in a loop counts for its iteration from here on: the iteration stays until the node has settled. */
void ticket_ready(Ticket *ticket, Activation *activation);

/* Hands a ready node to the device's threads. */
void ticket_hand_over(Ticket *ticket, Activation *activation);

/* Passes a finished node's outputs on into an iteration: each into its consumers' slots, the last consumer of
 * a port by move; what nobody takes is released. A dead node's consumers get nothing but its deadness. */
void ticket_propagate(
    Ticket *ticket, Iteration *iteration, const ScheduleNode *node, Tensor *outputs, bool is_dead);

/* The running node begins to wait: the wait counts as a ticket of the run and as a node of its iteration, so
 * that neither ends. Comes before anything may end the wait. */
static inline void
ticket_wait(Ticket *ticket)
{
    atomic_add_relaxed(&ticket->run->ticket_count, 1);
    ticket->readied++;
}

/* Takes ticket_wait() back: there is nothing to wait for. */
static inline void
ticket_wait_not(Ticket *ticket)
{
    atomic_sub_relaxed(&ticket->run->ticket_count, 1);
    ticket->readied--;
}

/* Ends a wait: a thread of the device calls resumption->resume(). Any thread. */
void run_go_on(Run *run, Resumption *resumption);

/* Queues a ready node in this ticket. */
static inline void
ticket_push(Ticket *ticket, Activation *activation)
{
    activation->work.next = NULL;
    if (ticket->first == NULL) {
        ticket->first = activation;
    } else {
        ticket->last->work.next = &activation->work;
    }
    ticket->last = activation;
}

/* Takes the next ready node; NULL when there is none. The kept node waits for nothing: with cheap ones in
 * front it goes to another thread. */
static inline Activation *
ticket_next(Ticket *ticket)
{
    Activation *kept = TAKE(ticket->kept);
    Activation *first = ticket->first;
    if (first == NULL) {
        return kept;
    }
    if (kept != NULL) {
        ticket_hand_over(ticket, kept);
    }
    ticket->first = (Activation *)(void *)first->work.next;
    return first;
}

/* Returns whether no other ticket is out: nobody else changes what the run counts then, and no locked
 * instruction is needed, which costs as much as ten others. */
static inline bool
ticket_is_alone(const Ticket *ticket)
{
    return atomic_load_acquire(&ticket->run->ticket_count) == 1;
}

/* Changes how many nodes of the iteration are ready or running; returns how many are then. */
static inline int32_t
ticket_count_outstanding(const Ticket *ticket, Iteration *iteration, int32_t change)
{
    if (!ticket_is_alone(ticket)) {
        return atomic_add_acq_rel(&iteration->outstanding, change);
    }
    int32_t after = atomic_load_relaxed(&iteration->outstanding) + change;
    atomic_store_relaxed(&iteration->outstanding, after);
    return after;
}

/* Returns where to note what the node does; NULL: nowhere. */
static inline NodeTrace *
trace_of(const Ticket *ticket, const Activation *activation)
{
    const Iteration *iteration = activation->iteration;
    return ticket->run->trace == NULL || iteration->trace == NULL
               ? NULL
               : &iteration->trace->nodes[activation - iteration->activations];
}
