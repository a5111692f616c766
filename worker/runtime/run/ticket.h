/* A ticket is one thread's turn in a run: it holds the ready nodes that this thread will run, and passes
 * on the outputs of nodes that have run, which makes others ready. The rules are those of TensorFlow's
 * executor (pending counts, dead tensors, Merge).
 *
 * A node's word in an iteration counts down with each edge that fires. At zero the node is ready and
 * belongs to the ticket that brought it there, and queues in it. Between two nodes the ticket chooses the
 * next one, a cheap one first; of several expensive ones it runs the first, and hands the others to the
 * device's threads if these take them over. A chain of nodes so stays on one thread, whose cache has their
 * inputs. executor.c runs the nodes.
 *
 * Threads: a Ticket belongs to one thread; all that it shares with other tickets of the run is atomic. */
#pragma once

#include "shared/base/atomic.h"
#include "worker/runtime/run/run_state.h"

/* Ready nodes, first in first out, linked by Activation.work. */
typedef struct ReadyNodes {
    Activation *first;
    Activation *last;
} ReadyNodes;

struct Ticket {
    Run *run;
    const Partition *partition;
    ReadyNodes cheap;
    ReadyNodes expensive;
    uint32_t passed_count; /* cheap nodes that were chosen one after another while an expensive one waited */
    Iteration *iteration;  /* the one of the node that is running */
    /* Nodes of that iteration that the running node has made ready, or has made wait, and that are not yet
     * counted in iteration->outstanding. */
    int32_t readied;
    uint32_t node_count;
    uint32_t loop_node_count;
    uint32_t accelerated_count; /* kernels that the accelerator was given */
    uint32_t kept_count;        /* see DeviceCounts */
    uint32_t missing_count;     /* see DeviceCounts */
    bool is_guest;              /* on the thread of a caller, for whom work of unknown length is too long */
    bool is_capturing;          /* kernels are computed between begin_capture() and end_capture() */
    uint64_t wanted_ns;         /* when the thread was first seen to be wanted by others; 0: not yet */
    MemoryAccount *charged;     /* the account that this thread charged before the ticket */
    MemoryAccount *charged_accelerator; /* the same, for the accelerator's memory */
    uint64_t begun_ns;                  /* by the device's clock of what this thread computes */
    Call call;
    Tensor outputs[STACK_OUTPUTS];
};

/* Limits one kernel's scratch memory, not a run's: the arena is replaced after each node that has used it. */
static const size_t SCRATCH_MAX = (size_t)1 << 30;

/* Begins a ticket that run->ticket_count already counts. `arena` is the kernels' scratch memory, and the
 * ticket's until executor_run() returns it or another in its place; NULL fails the run. */
void ticket_begin(Ticket *ticket, Run *run, Arena *arena);

/* Replaces the kernels' scratch memory, if some of it was used, after a node. Without memory the run fails.
 */
void ticket_renew_arena(Ticket *ticket);

/* Gives back a ticket that has nothing left to run; ends the run if it was the last. */
void ticket_drop(Run *run);

/* Does as ticket_drop() for a ticket that has run: once all that are left wait, the run rests. */
void ticket_end(Run *run);

/* Counts one more ticket, whose work is scheduled next. */
void ticket_add(Run *run);

/* Counts a waiting ticket as active: before run_go_on() for a wait whose end came from outside, and when a
 * kernel computes meanwhile. Returns whether the run has rested until now. */
bool ticket_activate(Run *run);

/* Takes ticket_activate() back, on a thread that holds another active ticket of the run. */
void ticket_deactivate(Run *run);

/* Queues a node that is ready. Its iteration, if in a loop, counts it until it has run. */
void ticket_ready(Ticket *ticket, Activation *activation);

/* Returns whether the ready node is worth a hand-over. One that was never measured counts as expensive; a
 * dead one computes nothing. */
bool ticket_is_long(const Ticket *ticket, const Activation *activation);

/* Takes the next node when an expensive one is ready: it, or a cheap one when another thread takes it over.
 */
Activation *ticket_next_expensive(Ticket *ticket);

/* Passes the outputs of a node that has run into the slots of its consumers in an iteration; the last
 * consumer of a port gets the reference. Outputs that nobody takes are released. When the node is dead,
 * its consumers get dead inputs, and `outputs` may be NULL. */
void ticket_propagate(
    Ticket *ticket, Iteration *iteration, const ScheduleNode *node, Tensor *outputs, bool is_dead);

/* Lets the running node wait: the wait counts as a ticket of the run and as a node of its iteration, so
 * that neither ends. Must come before anything may end the wait. */
static inline void
ticket_wait(Ticket *ticket)
{
    atomic_add_relaxed(&ticket->run->ticket_count, 1);
    ticket->readied++;
}

/* Takes ticket_wait() back, when the node need not wait after all. */
static inline void
ticket_wait_not(Ticket *ticket)
{
    atomic_sub_relaxed(&ticket->run->ticket_count, 1);
    ticket->readied--;
}

/* Ends a wait: a thread of the device calls resumption->resume(), with the ticket that the wait counted
 * as. Any thread. */
void run_go_on(Run *run, Resumption *resumption);

static inline void
ready_nodes_add(ReadyNodes *nodes, Activation *activation)
{
    activation->work.next = NULL;
    if (nodes->first == NULL) {
        nodes->first = activation;
    } else {
        nodes->last->work.next = &activation->work;
    }
    nodes->last = activation;
}

/* Returns NULL when there is none. */
static inline Activation *
ready_nodes_take(ReadyNodes *nodes)
{
    Activation *first = nodes->first;
    if (first != NULL) {
        nodes->first = (Activation *)(void *)first->work.next;
    }
    return first;
}

/* The number of cheap nodes that may be run while an expensive one waits, which another thread could compute
 * meanwhile. */
enum { PASSED_MAX = 8 };

/* Takes the next ready node; NULL when there is none. */
static inline Activation *
ticket_next(Ticket *ticket)
{
    if (ticket->expensive.first == NULL) {
        return ready_nodes_take(&ticket->cheap);
    }
    if (ticket->cheap.first != NULL && ticket->passed_count++ < PASSED_MAX) {
        return ready_nodes_take(&ticket->cheap);
    }
    return ticket_next_expensive(ticket);
}

/* Returns whether no other ticket of the run is out. Then no other thread changes the run's counts and
 * words, and no locked instruction is needed, which costs as much as ten others. */
static inline bool
ticket_is_alone(const Ticket *ticket)
{
    return atomic_load_acquire(&ticket->run->ticket_count) == 1;
}

/* Changes how many nodes of the iteration are ready, running or waiting, and returns the new number. */
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

/* Tells the accelerator which node this thread enqueues work for, if its lane may be traced. */
static inline void
ticket_mark(const Ticket *ticket, const Activation *activation)
{
    if (ticket->run->marks_device) {
        const Iteration *iteration = activation->iteration;
        Device *accelerator = ticket->partition->accelerator;
        accelerator->mark(
            accelerator, !ticket->run->is_device_traced || iteration->trace == NULL
                             ? 0
                             : trace_mark(iteration->trace, (uint32_t)(activation - iteration->activations)));
    }
}

/* Returns the trace record of the node; NULL when the run or the iteration is not traced. */
static inline NodeTrace *
trace_of(const Ticket *ticket, const Activation *activation)
{
    const Iteration *iteration = activation->iteration;
    return ticket->run->trace == NULL || iteration->trace == NULL
               ? NULL
               : &iteration->trace->nodes[activation - iteration->activations];
}
