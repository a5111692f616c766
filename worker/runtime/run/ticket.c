/* An edge fires → the word of the node behind it counts down → at zero the node is ready and queues in the
 * ticket → between two nodes the ticket takes the next, or hands an expensive one to another thread. */
#include "worker/runtime/run/ticket.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/runtime/run/run_failure.h"

enum { EXPENSIVE_NS = 10 * 1000 }; /* what is cheaper is never handed over */

static const uint64_t DEAD_INPUT = (uint64_t)1 << 32;
static const uint64_t MERGE_WINNER = (uint64_t)1 << 48;

/* Hands a ready node to the device's threads, with a ticket of its own. */
static void
hand_over(Ticket *ticket, Activation *activation)
{
    Device *device = ticket->partition->device;
    activation->work.run = ticket->run->hooks->run_node;
    ticket_add(ticket->run);
    device->schedule(device, &activation->work);
}

void
run_go_on(Run *run, Resumption *resumption)
{
    Device *device = run->partition->device;
    assert(resumption->resume != NULL);
    resumption->work.run = run->hooks->go_on;
    device->schedule(device, &resumption->work);
}

bool
ticket_is_long(const Ticket *ticket, const Activation *activation)
{
    bool is_dead = atomic_load_relaxed(&activation->word) >= DEAD_INPUT;
    return !is_dead && atomic_load_relaxed(&ticket->partition->costs[activation->node]) > EXPENSIVE_NS;
}

static uint32_t
cost_of(const Ticket *ticket, const Activation *activation)
{
    return atomic_load_relaxed(&ticket->partition->costs[activation->node]);
}

/* Returns whether another thread is to run the node. `has_other`: this one has something else to do. */
static bool
is_for_others(const Ticket *ticket, const Activation *activation, bool has_other)
{
    Device *device = ticket->partition->device;
    uint32_t cost = cost_of(ticket, activation);
    return (ticket->is_guest && cost >= COST_DEAD) || (has_other && device->takes_over(device, cost));
}

Activation *
ticket_next_expensive(Ticket *ticket)
{
    ticket->passed_count = 0;
    Activation *next = NULL;
    while (ticket->expensive.first != NULL) {
        bool has_other = next != NULL || ticket->cheap.first != NULL;
        if (is_for_others(ticket, ticket->expensive.first, has_other)) {
            hand_over(ticket, ready_nodes_take(&ticket->expensive));
        } else if (next == NULL) {
            next = ready_nodes_take(&ticket->expensive);
        } else {
            break;
        }
    }
    return next != NULL ? next : ready_nodes_take(&ticket->cheap);
}

/* Counts a ready node for its iteration: when the running node ends if it is of the same iteration, at once
 * otherwise. */
static void
count_ready(Ticket *ticket, Iteration *iteration)
{
    if (iteration == ticket->iteration) {
        ticket->readied++;
    } else if (iteration->frame != NULL) {
        (void)ticket_count_outstanding(ticket, iteration, 1);
    }
}

void
ticket_ready(Ticket *ticket, Activation *activation)
{
    NodeTrace *trace = trace_of(ticket, activation);
    if (trace != NULL) {
        trace->scheduled_ns = clock_monotonic_ns();
    }
    count_ready(ticket, activation->iteration);
    ready_nodes_add(ticket_is_long(ticket, activation) ? &ticket->expensive : &ticket->cheap, activation);
}

static uint64_t
add_to_word(const Ticket *ticket, Activation *activation, uint64_t change)
{
    if (!ticket_is_alone(ticket)) {
        return atomic_add_acq_rel(&activation->word, change);
    }
    uint64_t after = atomic_load_relaxed(&activation->word) + change;
    atomic_store_relaxed(&activation->word, after);
    return after;
}

static void
fire_edge(Ticket *ticket, Activation *activation, bool is_dead)
{
    uint64_t change = (is_dead ? DEAD_INPUT : 0) - 1;
    uint64_t word = add_to_word(ticket, activation, change);
    if ((uint32_t)word == 0) {
        ticket_ready(ticket, activation);
    }
}

static uint32_t
merge_dead_inputs(uint64_t word)
{
    return (uint32_t)(word / DEAD_INPUT) & 0xffff;
}

/* Returns a Merge's word after an edge has fired. Bit 0: no live input has come; bits 1 to 31: missing
 * control inputs; bits 32 to 47: dead inputs; bits 48 to 63: the input that won, plus one. A dead Enter
 * counts as all inputs that are missing, since the loop then never gets to its NextIteration. */
static uint64_t
merge_word(const ScheduleNode *merge, const ScheduleEdge *edge, uint64_t word, bool is_dead)
{
    if (edge->slot == SLOT_NONE) {
        return word - 2;
    }
    if (is_dead) {
        uint32_t missing = merge->node->input_count - merge_dead_inputs(word);
        uint32_t more = edge->is_entry || missing == 0 ? missing : 1;
        return word + DEAD_INPUT * more;
    }
    return (word & 1) == 0 ? word : word - 1 + MERGE_WINNER * (edge->slot - merge->slot + 1);
}

static bool
merge_is_ready(const ScheduleNode *merge, uint64_t word)
{
    uint32_t pending = (uint32_t)word;
    return pending == 0 || (pending == 1 && merge_dead_inputs(word) == merge->node->input_count);
}

static void
fire_merge_edge(Ticket *ticket, Iteration *iteration, const ScheduleEdge *edge, bool is_dead)
{
    Activation *activation = &iteration->activations[edge->cell];
    const ScheduleNode *merge = &ticket->partition->nodes[activation->node];
    uint64_t *word = &activation->word;
    /* The word is read after this: another ticket may change it, and end, at any time before. */
    bool is_alone = ticket_is_alone(ticket);
    uint64_t before = atomic_load_relaxed(word);
    uint64_t after = merge_word(merge, edge, before, is_dead);
    if (is_alone) {
        atomic_store_relaxed(word, after);
    } else {
        while (!atomic_compare_exchange_weak_acq_rel(word, &before, after)) {
            after = merge_word(merge, edge, before, is_dead);
        }
    }
    bool is_late = edge->slot != SLOT_NONE && !is_dead && (before & 1) == 0;
    if (is_late) {
        tensor_unref(&iteration->slots[edge->slot]);
    } else if (merge_is_ready(merge, after) && !merge_is_ready(merge, before)) {
        ticket_ready(ticket, activation);
    }
}

static void
deliver_tensor(Tensor *slot, const ScheduleEdge *edge, Tensor *output)
{
    tensor_copy(slot, output);
    if (edge->is_last) {
        output->dtype = DTYPE_INVALID;
        output->buffer = NULL;
    } else {
        (void)tensor_buffer_ref(slot->buffer);
    }
}

void
ticket_propagate(
    Ticket *ticket, Iteration *iteration, const ScheduleNode *node, Tensor *outputs, bool is_dead)
{
    const ScheduleEdge *edges = node->edges;
    uint32_t edge_count = node->edge_count;
    for (uint32_t i = 0; i < edge_count; i++) {
        const ScheduleEdge *edge = &edges[i];
        bool is_absent = is_dead;
        if (edge->slot != SLOT_NONE && !is_dead) {
            is_absent = outputs[edge->port].dtype == DTYPE_INVALID;
            if (!is_absent) {
                deliver_tensor(&iteration->slots[edge->slot], edge, &outputs[edge->port]);
            }
        }
        if (edge->to_merge) {
            fire_merge_edge(ticket, iteration, edge, is_absent);
        } else {
            fire_edge(ticket, &iteration->activations[edge->cell], is_absent);
        }
    }
    for (uint32_t i = 0; i < node->node->output_count && !is_dead; i++) {
        tensor_buffer_unref(outputs[i].buffer);
        outputs[i].buffer = NULL;
        outputs[i].dtype = DTYPE_INVALID;
    }
}

void
ticket_begin(Ticket *ticket, Run *run, Arena *arena)
{
    assert(run->hooks != NULL);
    ticket->run = run;
    ticket->partition = run->partition;
    ticket->charged = run->partition->device->charge(run->partition->device, run->account);
    if (run->partition->accelerator != NULL) {
        ticket->charged_accelerator =
            run->partition->accelerator->charge(run->partition->accelerator, run->account);
    }
    ticket->begun_ns = run->partition->device->computed_ns(run->partition->device);
    ticket->cheap = (ReadyNodes){0};
    ticket->expensive = (ReadyNodes){0};
    ticket->passed_count = 0;
    ticket->iteration = NULL;
    ticket->readied = 0;
    ticket->node_count = 0;
    ticket->loop_node_count = 0;
    ticket->accelerated_count = 0;
    ticket->kept_count = 0;
    ticket->missing_count = 0;
    ticket->is_guest = false;
    ticket->is_capturing = false;
    ticket->wanted_ns = 0;
    /* The call is reset member by member: zeroing its error's text would cost more than a small run takes. */
    ticket->call.arena = arena;
    ticket->call.deadline_ns = run->deadline_ns;
    ticket->call.request_id[0] = '\0';
    ticket->call.is_cancelled = false;
    ticket->call.has_ended = &run->has_failed;
    ticket->call.error.code = STATUS_OK;
    ticket->call.error.message[0] = '\0';
    ticket->call.error.node[0] = '\0';
    ticket->call.error.detail_count = 0;
    if (arena == NULL) {
        run_fail(run, failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0},
                          "out of memory for the kernels' scratch memory"));
    }
}

void
ticket_renew_arena(Ticket *ticket)
{
    if (ticket->call.arena == NULL || arena_size(ticket->call.arena) == 0) {
        return;
    }
    arena_free(ticket->call.arena);
    ticket->call.arena = arena_new(SCRATCH_MAX);
    if (ticket->call.arena == NULL) {
        run_fail(ticket->run, failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0},
                                  "out of memory for the kernels' scratch memory"));
    }
}

void
ticket_add(Run *run)
{
    atomic_add_relaxed(&run->ticket_count, 1);
    (void)ticket_activate(run);
}

bool
ticket_activate(Run *run)
{
    return run->late_args != NULL && atomic_add_acq_rel(&run->active_count, 1) == 1;
}

void
ticket_deactivate(Run *run)
{
    if (run->late_args != NULL) {
        int32_t left = atomic_sub_acq_rel(&run->active_count, 1);
        assert(left > 0);
        (void)left;
    }
}

/* Tells that the run rests while its last active ticket is still out, which keeps it from ending. */
void
ticket_end(Run *run)
{
    if (run->late_args != NULL && atomic_sub_acq_rel(&run->active_count, 1) == 0 &&
        atomic_load_acquire(&run->ticket_count) > 1 && run->callbacks.on_rest != NULL) {
        run->callbacks.on_rest(run->callbacks.context);
    }
    ticket_drop(run);
}

void
ticket_drop(Run *run)
{
    if (atomic_sub_acq_rel(&run->ticket_count, 1) == 0) {
        run->hooks->finish(run);
    }
}
