/* arg_run() finds the feed absent and waits → late_args_take(), on any thread, stores the feed → a thread
 * of the device passes it on with a ticket of its own (pass_late_arg()).
 *
 * _Arg nodes lie in the root, whose nodes are not counted (Iteration.outstanding): the ticket that the
 * wait counts as is all that keeps the run from ending. */
#include "worker/runtime/run/args.h"

#include <assert.h>
#include <inttypes.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { NAMED_MAX = 4 };

struct LateArg {
    Resumption resumption;
    bool is_awaited; /* its node waits for the feed; guarded by the run's lock */
};

bool
late_args_expect(Run *run)
{
    assert(run->late_args == NULL);
    run->late_args = memory_new(run->partition->arg_count + 1, sizeof *run->late_args);
    return run->late_args != NULL;
}

static void
pass_arg(Ticket *ticket, Activation *activation)
{
    const ScheduleNode *node = &ticket->partition->nodes[activation->node];
    Tensor *arg = &ticket->run->args[node->index];
    ticket->outputs[0] = *arg;
    arg->buffer = NULL;
    trace_end(trace_of(ticket, activation), ticket->partition->device, NULL, 0);
    ticket_propagate(ticket, activation->iteration, node, ticket->outputs, false);
}

/* Passes on a feed that arrived late. The trace starts here, since waiting for a client is no work. */
static void
pass_late_arg(Ticket *ticket, Resumption *resumption)
{
    NodeTrace *trace = trace_of(ticket, resumption->activation);
    if (trace != NULL) {
        trace->start_ns = clock_monotonic_ns();
    }
    pass_arg(ticket, resumption->activation);
}

/* Returns true when the feed has not arrived: the node waits for it, or, when the run has failed, is
 * dropped. No wait begins after a failure: has_failed is set under the same lock, and late_args_give_up(),
 * which comes after that, finds every wait that began before. */
static bool
await_feed(Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    Run *run = ticket->run;
    LateArg *late = &run->late_args[node->index];
    mutex_lock(&run->lock);
    bool is_absent = run->args[node->index].dtype == DTYPE_INVALID;
    if (is_absent && !run->has_failed) {
        late->resumption.activation = activation;
        late->resumption.resume = pass_late_arg;
        late->is_awaited = true;
        ticket_wait(ticket);
    }
    mutex_unlock(&run->lock);
    return is_absent;
}

void
arg_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    (void)is_dead;
    if (ticket->run->late_args == NULL || !await_feed(ticket, activation, node)) {
        pass_arg(ticket, activation);
    }
}

static Status
check_feed(Call *call, const Run *run, uint32_t index, const Tensor *tensor)
{
    if (run->late_args == NULL || index >= run->partition->arg_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the run takes no feed %" PRIu32 " later", index);
    }
    Dtype wanted = partition_arg_dtype(run->partition, index);
    return tensor->dtype == wanted
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "feed %" PRIu32 " must be of type %s, not %s",
                     index, dtype_name(wanted), dtype_name(tensor->dtype));
}

/* Stores the feed, or releases it when the run is over. Called with the run's lock held. *ret_is_awaited:
 * the node waited for it, and the caller resumes the node. */
static Status
take_feed(Call *call, Run *run, uint32_t index, Tensor *tensor, bool *ret_is_awaited)
{
    LateArg *late = &run->late_args[index];
    if (run->has_failed || run->is_done) {
        tensor_unref(tensor);
        return STATUS_OK;
    }
    if (run->args[index].dtype != DTYPE_INVALID) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "feed %" PRIu32 " has come already", index);
    }
    run->args[index] = *tensor;
    *tensor = (Tensor){0};
    *ret_is_awaited = late->is_awaited;
    late->is_awaited = false;
    return STATUS_OK;
}

Status
late_args_take(Call *call, Run *run, uint32_t index, Tensor *tensor)
{
    bool is_awaited = false;
    TRY(check_feed(call, run, index, tensor));
    mutex_lock(&run->lock);
    Status status = take_feed(call, run, index, tensor, &is_awaited);
    mutex_unlock(&run->lock);
    if (is_awaited) {
        (void)ticket_activate(run);
        run_go_on(run, &run->late_args[index].resumption);
    }
    return status;
}

void
late_args_give_up(Run *run)
{
    uint32_t count = run->late_args == NULL ? 0 : run->partition->arg_count;
    for (uint32_t i = 0; i < count; i++) {
        mutex_lock(&run->lock);
        bool was_awaited = run->late_args[i].is_awaited;
        run->late_args[i].is_awaited = false;
        mutex_unlock(&run->lock);
        if (was_awaited) {
            ticket_drop(run);
        }
    }
}

void
late_args_describe(Run *run, Buffer *text)
{
    uint32_t count = 0;
    uint32_t arg_count = run->late_args == NULL ? 0 : run->partition->arg_count;
    mutex_lock(&run->lock);
    for (uint32_t i = 0; i < arg_count; i++) {
        if (run->late_args[i].is_awaited && count++ < NAMED_MAX) {
            Slice name = run->partition->nodes[run->partition->args[i]].node->name;
            buffer_append_format(
                text, "%s'%.*s'", count == 1 ? "; waiting for feeds: " : ", ", SLICE_PRINT(name));
        }
    }
    mutex_unlock(&run->lock);
    if (count > NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - NAMED_MAX);
    }
}
