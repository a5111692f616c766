/* Functions of this file run one ready node each, and end with ticket_propagate(), a function of frame.h or
 * run_fail(): first the transfers, which exchange tensors by the run's rendezvous (a _Recv whose value has
 * not come waits); then control flow, by the rules of TensorFlow's executor; then kernels, feeds and
 * fetches. */
#include "worker/runtime/run/nodes.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/runtime/run/args.h"
#include "worker/runtime/run/compute.h"
#include "worker/runtime/run/frame.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/part.h"
#include "worker/runtime/run/promise.h"
#include "worker/runtime/run/run_failure.h"
#include "worker/runtime/run/ticket.h"
#include "worker/runtime/variable.h"

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

static void
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
    if (ticket_activate(run) && run->callbacks.on_rest != NULL) {
        run->callbacks.on_rest(run->callbacks.context);
    }
    run_go_on(run, &transfer->resumption);
}

/* Runs a _Recv. The wait is counted first, since the value may come on another thread before
 * rendezvous_receive() returns. */
static void
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

/* Passes the data to port 1 when the predicate holds, to port 0 otherwise; the other port is dead. */
static void
switch_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    Tensor *inputs = inputs_take(activation, node);
    if (is_dead) {
        tensors_release(inputs, 2);
        ticket_propagate(ticket, activation->iteration, node, NULL, true);
        return;
    }
    const Tensor *predicate = &inputs[1];
    if (tensor_element_count(predicate) != 1) {
        char text[SHAPE_TEXT_SIZE];
        run_fail(ticket->run,
            failure_of(STATUS_INVALID_ARGUMENT, node->node->name,
                "the predicate must be a scalar, not of shape %s", shape_text(&predicate->shape, text)));
        return;
    }
    Tensor *outputs = outputs_begin(ticket, activation, node);
    uint32_t port = *(const uint8_t *)predicate->data != 0;
    tensor_copy(&outputs[port], &inputs[0]);
    inputs[0].buffer = NULL;
    tensors_release(inputs, 2);
    ticket_propagate(ticket, activation->iteration, node, outputs, false);
}

static bool
has_index_reader(const ScheduleNode *merge)
{
    for (uint32_t i = 0; i < merge->edge_count && merge->edges[i].slot != SLOT_NONE; i++) {
        if (merge->edges[i].port == 1) {
            return true;
        }
    }
    return false;
}

static Status
make_index(Ticket *ticket, const ScheduleNode *merge, Tensor *outputs, uint32_t winner)
{
    KernelContext context = {
        .call = &ticket->call,
        .device = ticket->partition->device,
        .outputs = outputs,
        .output_count = merge->node->output_count,
    };
    Tensor *index = NULL;
    Shape scalar = shape_scalar();
    TRY(kernel_output(&context, 1, DTYPE_INT32, &scalar, &index));
    *(int32_t *)index->data = (int32_t)winner;
    return STATUS_OK;
}

/* Passes on the first live input, and its index when somebody reads that. A Merge that is ready without a
 * winner has only dead inputs, and is dead. */
static void
merge_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    (void)is_dead;
    uint32_t winner = (uint32_t)(atomic_load_relaxed(&activation->word) >> 48);
    if (winner == 0) {
        ticket_propagate(ticket, activation->iteration, node, NULL, true);
        return;
    }
    Tensor *outputs = outputs_begin(ticket, activation, node);
    if (has_index_reader(node) && make_index(ticket, node, outputs, winner - 1) != STATUS_OK) {
        run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
        return;
    }
    Tensor *input = &inputs_of(activation, node)[winner - 1];
    tensor_copy(&outputs[0], input);
    input->buffer = NULL;
    input->dtype = DTYPE_INVALID;
    ticket_propagate(ticket, activation->iteration, node, outputs, false);
}

/* Moves the only input of a node to its only output, which is absent when the input is dead. */
static Tensor *
pass_input(Ticket *ticket, const Activation *activation, const ScheduleNode *node, bool is_dead)
{
    Tensor *input = inputs_take(activation, node);
    if (is_dead) {
        tensors_release(input, 1);
    }
    tensor_copy(&ticket->outputs[0], input);
    input->buffer = NULL;
    input->dtype = DTYPE_INVALID;
    return ticket->outputs;
}

static void
enter_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    frame_enter(ticket, activation, node, pass_input(ticket, activation, node, is_dead), is_dead);
}

static void
exit_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    frame_exit(ticket, activation, node, pass_input(ticket, activation, node, is_dead), is_dead);
}

static void
next_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    frame_next(ticket, activation, node, pass_input(ticket, activation, node, is_dead), is_dead);
}

static void
forward_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    Tensor *output = pass_input(ticket, activation, node, is_dead);
    ticket_propagate(ticket, activation->iteration, node, output, is_dead);
}

/* Runs the part of a kernel that runs despite dead inputs (Kernel.compute_dead). False: it failed, and
 * with it the run. */
static bool
kernel_compute_dead(Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    KernelContext context = node_context(ticket, node, inputs_take(activation, node), NULL);
    Status status = node->kernel->compute_dead(&context);
    if (status != STATUS_OK) {
        run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
    }
    return status == STATUS_OK;
}

static void
kernel_run_dead(Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    node_note_dead(ticket, activation->node);
    bool is_right = node->kernel->compute_dead == NULL || kernel_compute_dead(ticket, activation, node);
    tensors_release(inputs_of(activation, node), node->node->input_count);
    if (is_right) {
        ticket_propagate(ticket, activation->iteration, node, NULL, true);
    }
}

static void
kernel_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    if (node->part != NULL) {
        part_run(ticket, activation, node, is_dead);
        return;
    }
    if (is_dead) {
        kernel_run_dead(ticket, activation, node);
        return;
    }
    Tensor *outputs = outputs_begin(ticket, activation, node);
    if (node_compute(ticket, activation, node, outputs)) {
        ticket_propagate(ticket, activation->iteration, node, outputs, false);
    } else {
        tensors_release(outputs, node->node->output_count);
        run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
    }
}

/* A folded node drops its inputs, which its value was computed from when the partition was compiled. */
static void
const_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    tensors_release(inputs_take(activation, node), node->node->input_count);
    if (!is_dead) {
        bool is_there = node->memories != NULL && node->memories[0] != MEMORY_HOST;
        ticket->outputs[0] = tensor_ref(is_there ? node->uploaded : node->value);
    }
    ticket_propagate(ticket, activation->iteration, node, ticket->outputs, is_dead);
}

static void
retval_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    const RunCallbacks *callbacks = &ticket->run->callbacks;
    Tensor *input = inputs_take(activation, node);
    if (is_dead) {
        tensor_unref(input);
    }
    callbacks->on_output(callbacks->context, node->index, input, is_dead);
    tensors_release(input, 1);
    ticket_propagate(ticket, activation->iteration, node, NULL, is_dead);
}

static void
nothing_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    ticket_propagate(ticket, activation->iteration, node, NULL, is_dead);
}

/* Replaces handles of variables by the variables' values, where the op reads values. False: a variable has
 * none, and the run has failed. */
static bool
references_read(Ticket *ticket, const ScheduleNode *node, Tensor *inputs)
{
    for (uint32_t i = 0; i < node->reference_count; i++) {
        if (variable_dereference(&ticket->call, &inputs[node->references[i]]) != STATUS_OK) {
            run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
            return false;
        }
    }
    return true;
}

/* Runs one ready node. Ends with ticket_propagate(), a function of frame.h or run_fail(), or with
 * ticket_wait() when the node has to wait. */
typedef void (*NodeRun)(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

static const NodeRun NODE_RUNS[] = {
    [SCHEDULE_KERNEL] = kernel_run,
    [SCHEDULE_PROMISE] = promise_run,
    [SCHEDULE_CONST] = const_run,
    [SCHEDULE_ARG] = arg_run,
    [SCHEDULE_RETVAL] = retval_run,
    [SCHEDULE_SEND] = send_run,
    [SCHEDULE_RECV] = receive_run,
    [SCHEDULE_SWITCH] = switch_run,
    [SCHEDULE_MERGE] = merge_run,
    [SCHEDULE_ENTER] = enter_run,
    [SCHEDULE_EXIT] = exit_run,
    [SCHEDULE_NEXT] = next_run,
    [SCHEDULE_FORWARD] = forward_run,
    [SCHEDULE_TRIGGER] = nothing_run,
    [SCHEDULE_NOTHING] = nothing_run,
};

void
node_run(Ticket *ticket, Activation *activation)
{
    const ScheduleNode *node = &ticket->partition->nodes[activation->node];
    uint64_t word = atomic_load_relaxed(&activation->word);
    bool is_dead = word >> 32 != 0 && node->kind != SCHEDULE_TRIGGER;
    ticket_mark(ticket, activation);
    bool is_reading = !is_dead || node->kind == SCHEDULE_MERGE;
    if (node->reference_count > 0 && is_reading &&
        !references_read(ticket, node, inputs_of(activation, node))) {
        return;
    }
    NodeTrace *trace = is_reading ? trace_of(ticket, activation) : NULL;
    if (trace != NULL) {
        trace->start_ns = clock_monotonic_ns();
    }
    NODE_RUNS[node->kind](ticket, activation, node, is_dead);
    /* A _Recv, an _Arg or a kernel that completes later may end on another thread, which notes its end. */
    bool ends_here =
        node->kind != SCHEDULE_RECV && node->kind != SCHEDULE_PROMISE && node->kind != SCHEDULE_ARG;
    if (trace != NULL && ends_here && trace->end_ns == 0) {
        trace_end(trace, ticket->partition->device, NULL, 0);
    }
}
