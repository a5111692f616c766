/* A node's life in an iteration: its word counts down with every edge that fires; at zero it is ready;
 * whoever brought it there owns it from then on. Cheap nodes queue in the ticket, expensive ones go to the
 * device's threads but for one, which stays on this thread. node_run() does the work and calls
 * ticket_propagate(), which makes others ready.
 *
 * After a failure nothing new is done: ready nodes are dropped, tickets come back, and the last one's end
 * finds the tensors that stayed in slots. */
#include "worker/runtime/run/executor.h"

#include "shared/base/clock.h"
#include "worker/runtime/run/frame.h"

enum {
    EXPENSIVE_NS = 10 * 1000,  /* about what handing over to a sleeping thread costs */
    DEADLINE_CHECK_EVERY = 32, /* nodes */
};

static const uint64_t DEAD_INPUT = (uint64_t)1 << 32;
static const uint64_t MERGE_WINNER = (uint64_t)1 << 48;

/* --- Ready nodes ---------------------------------------------------------------------------------------- */

static void
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

static void
run_work(DeviceWork *work)
{
    Activation *activation = (Activation *)(void *)work;
    Ticket ticket;
    ticket_begin(&ticket, activation->iteration->run, arena_new(SCRATCH_MAX));
    ticket_push(&ticket, activation);
    arena_free(ticket_run(&ticket));
}

static void
ticket_hand_over(Ticket *ticket, Activation *activation)
{
    Device *device = ticket->partition->device;
    activation->work.run = run_work;
    __atomic_add_fetch(&ticket->run->ticket_count, 1, __ATOMIC_RELAXED);
    device->schedule(device, &activation->work);
}

/* A node not measured yet is expensive. */
static bool
is_expensive(const Partition *partition, uint32_t node)
{
    return __atomic_load_n(&partition->costs[node], __ATOMIC_RELAXED) > EXPENSIVE_NS;
}

/* With no other ticket out, nobody else changes what a run counts: no locked instruction, which costs as much
 * as ten. */
static bool
is_alone(const Ticket *ticket)
{
    return __atomic_load_n(&ticket->run->ticket_count, __ATOMIC_ACQUIRE) == 1;
}

static int32_t
outstanding_add(const Ticket *ticket, Iteration *iteration, int32_t change)
{
    if (!is_alone(ticket)) {
        return __atomic_add_fetch(&iteration->outstanding, change, __ATOMIC_ACQ_REL);
    }
    const int32_t after = __atomic_load_n(&iteration->outstanding, __ATOMIC_RELAXED) + change;
    __atomic_store_n(&iteration->outstanding, after, __ATOMIC_RELAXED);
    return after;
}

/* What stays with this ticket can wait until the running node settles; what another thread may finish before
 * that must count at once. */
static void
ticket_count(Ticket *ticket, Iteration *iteration, bool stays)
{
    if (stays && iteration == ticket->iteration) {
        ticket->readied++;
    } else if (iteration->frame != NULL) {
        (void)outstanding_add(ticket, iteration, 1);
    }
}

void
ticket_ready(Ticket *ticket, Activation *activation)
{
    NodeTrace *const trace = trace_of(ticket, activation);
    const bool is_long = is_expensive(ticket->partition, activation->node);
    if (trace != NULL) {
        trace->scheduled_ns = clock_monotonic_ns();
    }
    ticket_count(ticket, activation->iteration, !is_long || ticket->kept == NULL);
    if (!is_long) {
        ticket_push(ticket, activation);
    } else if (ticket->kept == NULL) {
        ticket->kept = activation;
    } else {
        ticket_hand_over(ticket, activation);
    }
}

/* NULL when there is none. The kept node waits for nothing: with cheap ones in front it goes elsewhere. */
static Activation *
ticket_next(Ticket *ticket)
{
    Activation *const kept = TAKE(ticket->kept);
    Activation *const first = ticket->first;
    if (first == NULL) {
        return kept;
    }
    if (kept != NULL) {
        ticket_hand_over(ticket, kept);
    }
    ticket->first = (Activation *)(void *)first->work.next;
    return first;
}

/* --- Passing on ----------------------------------------------------------------------------------------- */

static uint64_t
word_add(const Ticket *ticket, Activation *activation, uint64_t change)
{
    if (!is_alone(ticket)) {
        return __atomic_add_fetch(&activation->word, change, __ATOMIC_ACQ_REL);
    }
    const uint64_t after = __atomic_load_n(&activation->word, __ATOMIC_RELAXED) + change;
    __atomic_store_n(&activation->word, after, __ATOMIC_RELAXED);
    return after;
}

static void
edge_fire(Ticket *ticket, Activation *activation, bool is_dead)
{
    const uint64_t change = (is_dead ? DEAD_INPUT : 0) - 1;
    const uint64_t word = word_add(ticket, activation, change);
    if ((uint32_t)word == 0) {
        ticket_ready(ticket, activation);
    }
}

static uint32_t
merge_dead_inputs(uint64_t word)
{
    return (uint32_t)(word / DEAD_INPUT) & 0xffff;
}

/* What an edge makes of a Merge's word: bit 0 "no live input yet", above it twice the missing controls, then
 * dead inputs (16 bits) and the input that won, plus one (16 bits). */
static uint64_t
merge_word(const ScheduleNode *merge, const ScheduleEdge *edge, uint64_t word, bool is_dead)
{
    if (edge->slot == SLOT_NONE) {
        return word - 2;
    }
    if (is_dead) {
        const uint32_t missing = merge->node->input_count - merge_dead_inputs(word);
        const uint32_t more = edge->is_entry || missing == 0 ? missing : 1;
        return word + DEAD_INPUT * more;
    }
    return (word & 1) == 0 ? word : word - 1 + MERGE_WINNER * (edge->slot - merge->slot + 1);
}

static bool
merge_is_ready(const ScheduleNode *merge, uint64_t word)
{
    const uint32_t pending = (uint32_t)word;
    return pending == 0 || (pending == 1 && merge_dead_inputs(word) == merge->node->input_count);
}

static void
edge_fire_merge(Ticket *ticket, Iteration *iteration, const ScheduleEdge *edge, bool is_dead)
{
    Activation *activation = &iteration->activations[edge->cell];
    const ScheduleNode *merge = &ticket->partition->nodes[activation->node];
    uint64_t *word = &activation->word;
    uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
    uint64_t after = merge_word(merge, edge, before, is_dead);
    if (is_alone(ticket)) {
        __atomic_store_n(word, after, __ATOMIC_RELAXED);
    } else {
        while (!__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            after = merge_word(merge, edge, before, is_dead);
        }
    }
    const bool is_late = edge->slot != SLOT_NONE && !is_dead && (before & 1) == 0;
    if (is_late) {
        tensor_unref(&iteration->slots[edge->slot]);
    } else if (merge_is_ready(merge, after) && !merge_is_ready(merge, before)) {
        ticket_ready(ticket, activation);
    }
}

static void
edge_deliver(Tensor *slot, const ScheduleEdge *edge, Tensor *output)
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
    const uint32_t edge_count = node->edge_count;
    for (uint32_t i = 0; i < edge_count; i++) {
        const ScheduleEdge *edge = &edges[i];
        bool is_absent = is_dead;
        if (edge->slot != SLOT_NONE && !is_dead) {
            is_absent = outputs[edge->port].dtype == DTYPE_INVALID;
            if (!is_absent) {
                edge_deliver(&iteration->slots[edge->slot], edge, &outputs[edge->port]);
            }
        }
        if (edge->to_merge) {
            edge_fire_merge(ticket, iteration, edge, is_absent);
        } else {
            edge_fire(ticket, &iteration->activations[edge->cell], is_absent);
        }
    }
    for (uint32_t i = 0; i < node->node->output_count && !is_dead; i++) {
        tensor_buffer_unref(outputs[i].buffer);
        outputs[i].buffer = NULL;
        outputs[i].dtype = DTYPE_INVALID;
    }
}

/* --- Tickets -------------------------------------------------------------------------------------------- */

void
ticket_begin(Ticket *ticket, Run *run, Arena *arena)
{
    ticket->run = run;
    ticket->partition = run->partition;
    ticket->charged = run->partition->device->charge(run->partition->device, run->account);
    ticket->first = NULL;
    ticket->last = NULL;
    ticket->kept = NULL;
    ticket->iteration = NULL;
    ticket->readied = 0;
    ticket->node_count = 0;
    ticket->loop_node_count = 0;
    /* Field by field: zeroing the error's text would cost more than a small run. */
    ticket->call.arena = arena;
    ticket->call.deadline_ns = run->deadline_ns;
    ticket->call.request_id[0] = '\0';
    ticket->call.is_cancelled = false;
    ticket->call.error.code = STATUS_OK;
    ticket->call.error.message[0] = '\0';
    ticket->call.error.detail_count = 0;
    if (arena == NULL) {
        run_fail(run, STATUS_RESOURCE_EXHAUSTED, "out of memory for the kernels' scratch memory", (Slice){0});
    }
}

void
ticket_drop(Run *run)
{
    if (__atomic_sub_fetch(&run->ticket_count, 1, __ATOMIC_ACQ_REL) == 0) {
        run_finish(run);
    }
}

static void
ticket_check_deadline(Ticket *ticket)
{
    const Run *run = ticket->run;
    if (run->deadline_ns != 0 && ticket->node_count % DEADLINE_CHECK_EVERY == 0 &&
        clock_monotonic_ns() > run->deadline_ns) {
        run_cancel(ticket->run, STATUS_DEADLINE_EXCEEDED, "the step's deadline has passed");
    }
}

static void
ticket_renew_arena(Ticket *ticket)
{
    arena_free(ticket->call.arena);
    ticket->call.arena = arena_new(SCRATCH_MAX);
    if (ticket->call.arena == NULL) {
        run_fail(ticket->run, STATUS_RESOURCE_EXHAUSTED, "out of memory for the kernels' scratch memory",
            (Slice){0});
    }
}

/* The iteration may be gone, or be another one, as soon as it counts nobody. */
static void
ticket_settle(Ticket *ticket, Iteration *iteration)
{
    Frame *const frame = iteration->frame;
    const int32_t change = ticket->readied - 1;
    ticket->iteration = NULL;
    if (change != 0 && outstanding_add(ticket, iteration, change) == 0) {
        frame_settle(ticket, frame);
    }
}

void
ticket_resume(Ticket *ticket, Activation *activation, void (*run)(Ticket *ticket, Activation *activation))
{
    Iteration *const iteration = activation->iteration;
    ticket->iteration = iteration;
    ticket->readied = 0;
    run(ticket, activation);
    if (iteration->frame != NULL) {
        ticket_settle(ticket, iteration);
    }
}

static void
ticket_do(Ticket *ticket, Activation *activation)
{
    ticket->node_count++;
    ticket->loop_node_count += activation->iteration->frame != NULL;
    ticket_resume(ticket, activation, node_run);
}

Arena *
ticket_run(Ticket *ticket)
{
    Run *run = ticket->run;
    for (Activation *next = ticket_next(ticket); next != NULL; next = ticket_next(ticket)) {
        ticket_check_deadline(ticket);
        if (run_has_failed(run)) {
            continue;
        }
        ticket_do(ticket, next);
        if (ticket->call.arena != NULL && arena_size(ticket->call.arena) > 0) {
            ticket_renew_arena(ticket);
        }
    }
    Arena *arena = ticket->call.arena;
    Device *const device = ticket->partition->device;
    (void)device->charge(device, ticket->charged);
    __atomic_add_fetch(&run->node_count, ticket->node_count, __ATOMIC_RELAXED);
    if (ticket->loop_node_count > 0) {
        __atomic_add_fetch(&run->loop_node_count, ticket->loop_node_count, __ATOMIC_RELAXED);
    }
    ticket_drop(run);
    return arena;
}
