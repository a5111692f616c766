#include "worker/runtime/run/executor.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/runtime/run/frame.h"
#include "worker/runtime/run/nodes.h"
#include "worker/runtime/run/run_cancel.h"
#include "worker/runtime/run/run_failure.h"

enum { CHECK_EVERY = 32 }; /* nodes of a ticket */

/* The time in which a ticket goes on while others wait: a hundred times what giving way costs. */
#define TURN_NS (2 * CLOCK_NS_PER_MS)

/* The ready nodes of a ticket that has given way. Lies in the ticket's arena. */
typedef struct Turn {
    DeviceWork work; /* first */
    Run *run;
    ReadyNodes cheap;
    ReadyNodes expensive;
    Arena *arena;
} Turn;

/* Time that tickets have taken on this thread while the ticket that it runs now was out. */
static _Thread_local uint64_t inner_ns;

static void
check_deadline(const Ticket *ticket)
{
    Run *run = ticket->run;
    if (run->deadline_ns != 0 && ticket->node_count % CHECK_EVERY == 0 &&
        clock_monotonic_ns() > run->deadline_ns) {
        run_cancel(run, STATUS_DEADLINE_EXCEEDED, "the step's deadline has passed");
    }
}

/* Begins a node of the iteration. Nodes of the same iteration that it makes ready are counted in the
 * ticket alone, until settle_node() adds them to the iteration at once. */
static void
begin_node(Ticket *ticket, Iteration *iteration)
{
    ticket->iteration = iteration;
    ticket->readied = 0;
}

/* Ends a node: takes it off the iteration's count and adds the nodes it made ready. Once the count is 0,
 * another thread may end the iteration and use it again, and a node that waits may have gone on there by now:
 * its frame was read before it began. */
static void
settle_node(Ticket *ticket, Iteration *iteration, Frame *frame)
{
    int32_t change = ticket->readied - 1;
    if (frame == NULL) {
        return;
    }
    ticket->iteration = NULL;
    if (change != 0 && ticket_count_outstanding(ticket, iteration, change) == 0) {
        frame_settle(ticket, frame);
    }
}

static void
run_ready_node(Ticket *ticket, Activation *activation)
{
    Iteration *iteration = activation->iteration;
    Frame *frame = iteration->frame;
    ticket->node_count++;
    ticket->loop_node_count += frame != NULL;
    begin_node(ticket, iteration);
    node_run(ticket, activation);
    settle_node(ticket, iteration, frame);
}

/* Adds what this thread has computed for the run. A run that a kernel of this ticket started on this thread
 * has counted its own part already. */
static void
count_computed(Ticket *ticket, uint64_t inner_before_ns)
{
    Device *device = ticket->partition->device;
    uint64_t spent_ns = device->computed_ns(device) - ticket->begun_ns;
    uint64_t own_ns = spent_ns > inner_ns ? spent_ns - inner_ns : 0;
    atomic_add_relaxed(&ticket->run->computed_ns, own_ns);
    inner_ns = inner_before_ns + spent_ns;
}

static void
run_next_turn(DeviceWork *work)
{
    Turn turn = *(Turn *)(void *)work; /* what lies in the arena ends with the first node that uses that */
    Ticket ticket;
    ticket_begin(&ticket, turn.run, turn.arena);
    ticket.cheap = turn.cheap;
    ticket.expensive = turn.expensive;
    arena_free(executor_run(&ticket));
}

/* Returns whether others have waited for a turn. Between cheap nodes this is asked now and then. */
static bool
is_turn_over(Ticket *ticket, bool was_long)
{
    Device *device = ticket->partition->device;
    if ((!was_long && ticket->node_count % CHECK_EVERY != 0) || !device->is_wanted(device)) {
        return false;
    }
    uint64_t now_ns = clock_monotonic_ns();
    ticket->wanted_ns = ticket->wanted_ns == 0 ? now_ns : ticket->wanted_ns;
    return now_ns - ticket->wanted_ns >= TURN_NS;
}

/* Queues the ticket's ready nodes behind the work that waits for this thread, if there is memory for it. */
static void
give_way(Ticket *ticket)
{
    Run *run = ticket->run;
    Device *device = ticket->partition->device;
    bool has_nodes = ticket->cheap.first != NULL || ticket->expensive.first != NULL;
    Turn *turn =
        !has_nodes || ticket->call.arena == NULL ? NULL : arena_alloc(ticket->call.arena, sizeof *turn);
    if (turn == NULL) {
        return;
    }
    Arena *arena = TAKE(ticket->call.arena);
    *turn = (Turn){.work.run = run_next_turn,
        .run = run,
        .cheap = ticket->cheap,
        .expensive = ticket->expensive,
        .arena = arena};
    ticket->cheap = (ReadyNodes){0};
    ticket->expensive = (ReadyNodes){0};
    ticket_add(run);
    device->schedule(device, &turn->work);
}

static void
leave_accelerator(const Ticket *ticket, Device *accelerator)
{
    (void)accelerator->charge(accelerator, ticket->charged_accelerator);
    atomic_add_relaxed(&accelerator->counts.kernels, ticket->accelerated_count);
    atomic_add_relaxed(&accelerator->counts.kept, ticket->kept_count);
    atomic_add_relaxed(&accelerator->counts.missing, ticket->missing_count);
}

Arena *
executor_run(Ticket *ticket)
{
    Run *run = ticket->run;
    uint64_t inner_before_ns = inner_ns;
    inner_ns = 0;
    for (Activation *next = ticket_next(ticket); next != NULL; next = ticket_next(ticket)) {
        check_deadline(ticket);
        if (run_has_failed(run)) {
            continue;
        }
        bool is_long = ticket_is_long(ticket, next);
        run_ready_node(ticket, next);
        ticket_renew_arena(ticket);
        if (is_turn_over(ticket, is_long)) {
            give_way(ticket);
        }
    }
    Arena *arena = ticket->call.arena;
    Device *device = ticket->partition->device;
    (void)device->charge(device, ticket->charged);
    if (ticket->partition->accelerator != NULL) {
        leave_accelerator(ticket, ticket->partition->accelerator);
    }
    atomic_add_relaxed(&run->node_count, ticket->node_count);
    if (ticket->loop_node_count > 0) {
        atomic_add_relaxed(&run->loop_node_count, ticket->loop_node_count);
    }
    count_computed(ticket, inner_before_ns);
    ticket_end(run);
    return arena;
}

void
executor_run_node(DeviceWork *work)
{
    Activation *activation = (Activation *)(void *)work;
    Ticket ticket;
    ticket_begin(&ticket, activation->iteration->run, arena_new(SCRATCH_MAX));
    ready_nodes_add(&ticket.cheap, activation);
    arena_free(executor_run(&ticket));
}

void
executor_go_on(DeviceWork *work)
{
    Resumption *resumption = (Resumption *)(void *)work;
    Iteration *iteration = resumption->activation->iteration;
    Frame *frame = iteration->frame;
    Ticket ticket;
    ticket_begin(&ticket, iteration->run, arena_new(SCRATCH_MAX));
    begin_node(&ticket, iteration);
    resumption->resume(&ticket, resumption);
    settle_node(&ticket, iteration, frame);
    arena_free(executor_run(&ticket));
}
