#include "worker/runtime/run/transfers.h"

#include "shared/base/atomic.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/run_failure.h"

static Transfer *
transfer_of(const Activation *activation, const ScheduleNode *node)
{
    return &activation->iteration->transfers[node->index];
}

/* Returns the transfer's key: the schedule's in the root; in a loop it names the iteration and is written
 * now. */
static Slice
key_of(const Activation *activation, const ScheduleNode *node)
{
    return activation->iteration->frame == NULL ? node->key : iteration_key(activation->iteration, node);
}

void
send_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    Tensor *input = inputs_take(activation, node);
    if (is_dead) {
        tensor_unref(input);
    }
    Slice key = key_of(activation, node);
    trace_end(is_dead ? NULL : trace_of(ticket, activation), ticket->partition->device, input, 1);
    Status status = rendezvous_send(&ticket->call, ticket->run->rendezvous, key, input, is_dead);
    tensors_release(input, 1);
    if (status == STATUS_OK) {
        ticket_propagate(ticket, activation->iteration, node, NULL, is_dead);
    } else {
        run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
    }
}

static void
trace_received(const Ticket *ticket, const Activation *activation, bool is_dead, const Tensor *value)
{
    NodeTrace *trace = is_dead ? NULL : trace_of(ticket, activation);
    if (trace != NULL) {
        const ScheduleNode *node = &ticket->partition->nodes[activation->node];
        trace->was_pulled = transfer_of(activation, node)->waiter.is_pulled;
        trace_end(trace, ticket->partition->device, value, 1);
    }
}

/* Counts a received tensor for the run: in its account when nobody else counts the bytes, otherwise in
 * fed_bytes, as if they were held until the run ends. */
static void
count_received(Run *run, const Tensor *value)
{
    Device *device = run->partition->device;
    if (value->buffer != NULL && !device->adopt(device, value->buffer)) {
        atomic_add_relaxed(&run->fed_bytes, value->buffer->size);
    }
}

/* Goes on with a _Recv that has got an error, a dead tensor, or a value, whose dtype must be the node's. */
static void
receive_finish(Ticket *ticket, Resumption *resumption)
{
    const Activation *activation = resumption->activation;
    const ScheduleNode *node = &ticket->partition->nodes[activation->node];
    RendezvousMessage *message = &transfer_of(activation, node)->message;
    Dtype wanted = node->node->output_dtypes[0];
    Dtype came = message->tensor.dtype;
    if (message->code != STATUS_OK) {
        run_fail(ticket->run, failure_of(message->code, node->node->name, "%s", message->error));
    } else if (!message->is_dead && came != wanted) {
        tensor_unref(&message->tensor);
        run_fail(
            ticket->run, failure_of(STATUS_INTERNAL, node->node->name,
                             "a tensor of type %s came instead of %s", dtype_name(came), dtype_name(wanted)));
    } else {
        Tensor value = message->tensor;
        message->tensor = (Tensor){0};
        count_received(ticket->run, &value);
        trace_received(ticket, activation, message->is_dead, &value);
        ticket_propagate(ticket, activation->iteration, node, &value, message->is_dead);
    }
}

/* Called on the thread that sent the value or aborted the rendezvous. A thread of the device goes on with
 * the node; after an abort nothing is left to compute, and the wait's ticket is given back here. */
static void
receive_done(RendezvousWaiter *waiter, RendezvousMessage *message)
{
    Transfer *transfer = (Transfer *)(void *)waiter;
    const Activation *activation = transfer->resumption.activation;
    Run *run = activation->iteration->run;
    atomic_store_relaxed(&transfer->is_waiting, false);
    if (message->code != STATUS_OK) {
        const ScheduleNode *node = &run->partition->nodes[activation->node];
        run_fail(run, failure_of(message->code, node->node->name, "%s", message->error));
        ticket_drop(run);
        return;
    }
    transfer->message = *message;
    message->tensor = (Tensor){0};
    transfer->resumption.resume = receive_finish;
    run_go_on(run, &transfer->resumption);
}

/* Runs a _Recv. The wait is counted first, since the value may come on another thread before
 * rendezvous_receive() returns. */
void
receive_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    if (is_dead) {
        ticket_propagate(ticket, activation->iteration, node, NULL, true);
        return;
    }
    Transfer *transfer = transfer_of(activation, node);
    RendezvousMessage message;
    Slice key = key_of(activation, node);
    transfer->waiter.done = receive_done;
    atomic_store_release(&transfer->is_waiting, true);
    ticket_wait(ticket);
    if (rendezvous_receive(ticket->run->rendezvous, key, &transfer->waiter, &message)) {
        atomic_store_relaxed(&transfer->is_waiting, false);
        ticket_wait_not(ticket);
        transfer->message = message;
        receive_finish(ticket, &transfer->resumption);
    }
}
