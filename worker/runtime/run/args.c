/* arg_run() waits → late_args_take() on any thread → pass_arg() as a ticket of its own. Args belong to the
 * root, which no node keeps from ending: the ticket is all that the wait counts as. */
#include "worker/runtime/run/args.h"

#include <assert.h>
#include <inttypes.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { NAMED_MAX = 4 };

struct LateArg {
    Resumption resumption;
    bool is_awaited; /* by its node; under the run's lock */
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

/* A trace counts from when the feed came: waiting for a client is no work. */
static void
pass_late_arg(Ticket *ticket, Resumption *resumption)
{
    NodeTrace *trace = trace_of(ticket, resumption->activation);
    if (trace != NULL) {
        trace->start_ns = clock_monotonic_ns();
    }
    pass_arg(ticket, resumption->activation);
}

/* Returns true when the feed has not arrived: the node waits, or, when the run has failed, is dropped. A
 * failure has ended all waiting that began before it, so that none may begin after it. */
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

/* Takes the feed under the run's lock. */
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
