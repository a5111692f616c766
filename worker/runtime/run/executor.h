/* How a run moves on: nodes become ready, are done inline or handed to the device's threads, and pass their
 * outputs on. The rules are TensorFlow's executor (pending counts, dead tensors, Merge).
 *
 * Threads: a Ticket belongs to one thread; everything it shares with other tickets of the run is atomic. */
#pragma once

#include "worker/runtime/run/run_state.h"

typedef struct Ticket {
    Run *run;
    const Partition *partition;
    Activation *first; /* ready nodes, first in first out, linked by their work */
    Activation *last;
    Activation *kept;     /* an expensive ready node, done here unless something cheap waits */
    Iteration *iteration; /* of the node that is running */
    int32_t readied;      /* nodes of that iteration that it made ready and that wait here */
    uint32_t node_count;
    uint32_t loop_node_count;
    MemoryAccount *charged; /* by this thread before */
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

/* Of a node in a loop this counts for its iteration: it stays until the node has settled. */
void ticket_ready(Ticket *ticket, Activation *activation);

/* Passes a finished node's outputs on into an iteration: each into its consumers' slots, the last consumer of
 * a port by move; what nobody takes is given back. A dead node's consumers get nothing but its deadness. */
void ticket_propagate(
    Ticket *ticket, Iteration *iteration, const ScheduleNode *node, Tensor *outputs, bool is_dead);

/* Goes on with a node that was waiting: `run` does what is left of it. Before it began to wait, the node
 * raised ticket->readied by one, so that its iteration could not end. */
void ticket_resume(
    Ticket *ticket, Activation *activation, void (*run)(Ticket *ticket, Activation *activation));

/* The first failure of a run stops it. `node` may be empty. */
void run_fail(Run *run, Status code, const char *message, Slice node);

/* Where to note what the node does; NULL: nowhere. */
static inline NodeTrace *
trace_of(const Ticket *ticket, const Activation *activation)
{
    const Iteration *const iteration = activation->iteration;
    return ticket->run->trace == NULL || iteration->trace == NULL
               ? NULL
               : &iteration->trace->nodes[activation - iteration->activations];
}

static inline bool
run_has_failed(const Run *run)
{
    return __atomic_load_n(&run->has_failed, __ATOMIC_RELAXED);
}

/* A node's own part: its kernel, or what the executor does itself (nodes.c). */
void node_run(Ticket *ticket, Activation *activation);

/* When the last ticket is back (run.c). */
void run_finish(Run *run);
