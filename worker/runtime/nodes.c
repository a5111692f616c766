/* What each kind of node does when it is ready and nothing failed before. Every function ends with
 * ticket_propagate(), run_fail(), or, for a Recv that has to wait, with a ticket more. */
#include <inttypes.h>
#include <stdio.h>

#include "shared/base/clock.h"
#include "worker/runtime/executor.h"

enum { AVERAGE_WEIGHT = 8 }; /* a measurement counts one eighth */

static void
tensors_release(Tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tensor_buffer_unref(tensors[i].buffer);
        tensors[i].buffer = NULL;
        tensors[i].dtype = DTYPE_INVALID;
    }
}

static Tensor *
inputs_of(const Ticket *ticket, const ScheduleNode *node)
{
    return &ticket->run->slots[node->slot];
}

/* The inputs with constants filled in, each holding a reference. */
static Tensor *
inputs_take(const Ticket *ticket, const ScheduleNode *node)
{
    Tensor *inputs = inputs_of(ticket, node);
    for (uint32_t i = 0; i < node->constant_count; i++) {
        inputs[node->constants[i].input] = *node->constants[i].value;
        (void)tensor_buffer_ref(node->constants[i].value->buffer);
    }
    return inputs;
}

/* --- Kernels -------------------------------------------------------------------------------------------- */

static bool
is_measured(const Ticket *ticket, uint32_t id)
{
    const ScheduleNode *node = &ticket->partition->nodes[id];
    const uint32_t cost = __atomic_load_n(&ticket->partition->costs[id], __ATOMIC_RELAXED);
    return !node->is_cheap && (cost == COST_UNKNOWN || cost > CLOCK_NS_PER_US || ticket->run->measures_all);
}

/* Two runs may lose one of their two measurements; an average bears that. */
static void
measured(const Ticket *ticket, uint32_t id, uint64_t elapsed_ns)
{
    Partition *partition = ticket->run->partition;
    const uint32_t old = __atomic_load_n(&partition->costs[id], __ATOMIC_RELAXED);
    const int64_t now = elapsed_ns < COST_UNKNOWN ? (int64_t)elapsed_ns : COST_UNKNOWN - 1;
    const int64_t next = old == COST_UNKNOWN ? now : old + (now - old) / AVERAGE_WEIGHT;
    const int64_t change = next - (old == COST_UNKNOWN ? COST_GUESS : (int64_t)old);
    __atomic_store_n(&partition->costs[id], (uint32_t)next, __ATOMIC_RELAXED);
    __atomic_add_fetch(&partition->total_cost, (uint64_t)change, __ATOMIC_RELAXED);
}

/* A kernel that leaves an output out, or makes another type than it says, is wrong. */
static bool
outputs_are_right(Ticket *ticket, const ScheduleNode *node, const Tensor *outputs)
{
    for (uint32_t i = 0; i < node->node->output_count; i++) {
        if (outputs[i].dtype != node->node->output_dtypes[i]) {
            const Status status = call_fail(&ticket->call, STATUS_INTERNAL,
                "the kernel made output %" PRIu32 " of type %s instead of %s", i,
                dtype_name(outputs[i].dtype), dtype_name(node->node->output_dtypes[i]));
            (void)status;
            return false;
        }
    }
    return true;
}

static uint32_t
thread_number(void)
{
    static uint32_t count;
    static _Thread_local uint32_t number;
    if (number == 0) {
        number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    }
    return number;
}

static void
trace_node(NodeTrace *trace, const ScheduleNode *node, const Tensor *outputs, uint64_t start_ns)
{
    trace->start_ns = start_ns;
    trace->end_ns = clock_monotonic_ns();
    trace->thread = thread_number();
    for (uint32_t i = 0; i < node->node->output_count; i++) {
        trace->output_bytes += outputs[i].dtype == DTYPE_INVALID ? 0 : tensor_byte_size(&outputs[i]);
    }
}

static Tensor *
outputs_begin(Ticket *ticket, const ScheduleNode *node)
{
    Tensor *outputs =
        node->output_slot == SLOT_NONE ? ticket->outputs : &ticket->run->slots[node->output_slot];
    for (uint32_t i = 0; i < node->node->output_count; i++) {
        outputs[i].dtype = DTYPE_INVALID;
        outputs[i].data = NULL;
        outputs[i].buffer = NULL;
    }
    return outputs;
}

static bool
kernel_compute(Ticket *ticket, uint32_t id, const ScheduleNode *node, Tensor *outputs)
{
    Tensor *inputs = inputs_take(ticket, node);
    NodeTrace *traces = ticket->run->traces;
    KernelContext context = {
        .call = &ticket->call,
        .device = ticket->partition->device,
        .node = node->node,
        .state = node->state,
        .inputs = inputs,
        .input_count = node->node->input_count,
        .outputs = outputs,
        .output_count = node->node->output_count,
    };
    const bool is_timed = is_measured(ticket, id);
    const uint64_t start_ns = is_timed || traces != NULL ? clock_monotonic_ns() : 0;
    const Status status = node->kernel->compute(&context);
    if (is_timed) {
        measured(ticket, id, clock_monotonic_ns() - start_ns);
    }
    if (traces != NULL) {
        trace_node(&traces[id], node, outputs, start_ns);
    }
    tensors_release(inputs, node->node->input_count);
    return status == STATUS_OK && outputs_are_right(ticket, node, outputs);
}

static void
kernel_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    Tensor *outputs = outputs_begin(ticket, node);
    if (is_dead) {
        tensors_release(inputs_of(ticket, node), node->node->input_count);
        ticket_propagate(ticket, node, outputs, true);
    } else if (kernel_compute(ticket, id, node, outputs)) {
        ticket_propagate(ticket, node, outputs, false);
    } else {
        const Error *error = &ticket->call.error;
        tensors_release(outputs, node->node->output_count);
        run_fail(ticket->run, error->code, error->message, node->node->name);
    }
}

/* --- Constants, args, retvals --------------------------------------------------------------------------- */

static void
const_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    if (!is_dead) {
        ticket->outputs[0] = tensor_ref(node->value);
    }
    ticket_propagate(ticket, node, ticket->outputs, is_dead);
}

static void
arg_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    (void)is_dead;
    Tensor *arg = &ticket->run->args[node->index];
    ticket->outputs[0] = *arg;
    arg->buffer = NULL;
    ticket_propagate(ticket, node, ticket->outputs, false);
}

static void
retval_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    const RunCallbacks *callbacks = &ticket->run->callbacks;
    Tensor *input = inputs_take(ticket, node);
    if (is_dead) {
        tensor_unref(input);
    }
    callbacks->on_output(callbacks->context, node->index, input, is_dead);
    tensors_release(input, 1);
    ticket_propagate(ticket, node, NULL, is_dead);
}

static void
nothing_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    ticket_propagate(ticket, node, NULL, is_dead);
}

/* --- Control flow --------------------------------------------------------------------------------------- */

/* The data goes to port 1 when the predicate holds, to port 0 otherwise; the other port is dead. */
static void
switch_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    Tensor *outputs = outputs_begin(ticket, node);
    Tensor *inputs = inputs_take(ticket, node);
    const Tensor *predicate = &inputs[1];
    if (!is_dead && tensor_element_count(predicate) != 1) {
        char text[SHAPE_TEXT_SIZE];
        char message[ERROR_MESSAGE_SIZE];
        snprintf(message, sizeof message, "the predicate must be a scalar, not of shape %s",
            shape_text(&predicate->shape, text));
        run_fail(ticket->run, STATUS_INVALID_ARGUMENT, message, node->node->name);
        return;
    }
    if (!is_dead) {
        const uint32_t port = *(const uint8_t *)predicate->data != 0;
        outputs[port] = inputs[0];
        inputs[0].buffer = NULL;
    }
    tensors_release(inputs, 2);
    ticket_propagate(ticket, node, outputs, is_dead);
}

/* Ready means that one live input came, or that all are dead. */
static void
merge_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)is_dead;
    const uint32_t winner = (uint32_t)(__atomic_load_n(&ticket->run->words[id], __ATOMIC_RELAXED) >> 48);
    Tensor *outputs = outputs_begin(ticket, node);
    if (winner == 0) {
        ticket_propagate(ticket, node, outputs, true);
        return;
    }
    KernelContext context = {
        .call = &ticket->call,
        .device = ticket->partition->device,
        .outputs = outputs,
        .output_count = node->node->output_count,
    };
    Tensor *index = NULL;
    Tensor *input = &inputs_of(ticket, node)[winner - 1];
    const Shape scalar = shape_scalar();
    if (kernel_output(&context, 1, DTYPE_INT32, &scalar, &index) != STATUS_OK) {
        run_fail(ticket->run, ticket->call.error.code, ticket->call.error.message, node->node->name);
        return;
    }
    *(int32_t *)index->data = (int32_t)winner - 1;
    outputs[0] = *input;
    input->buffer = NULL;
    input->dtype = DTYPE_INVALID;
    ticket_propagate(ticket, node, outputs, false);
}

/* --- Transfers ------------------------------------------------------------------------------------------ */

static void
send_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    Tensor *input = inputs_take(ticket, node);
    if (is_dead) {
        tensor_unref(input);
    }
    const Slice key = ticket->partition->keys[node->index];
    const Status status = rendezvous_send(&ticket->call, ticket->run->rendezvous, key, input, is_dead);
    tensors_release(input, 1);
    if (status == STATUS_OK) {
        ticket_propagate(ticket, node, NULL, is_dead);
    } else {
        run_fail(ticket->run, status, ticket->call.error.message, node->node->name);
    }
}

/* What came for a Recv: an error, a dead tensor, or a value of the type the node says. */
static void
receive_finish(Ticket *ticket, const ScheduleNode *node, RendezvousMessage *message)
{
    const Dtype wanted = node->node->output_dtypes[0];
    const Dtype came = message->tensor.dtype;
    if (message->code != STATUS_OK) {
        run_fail(ticket->run, message->code, message->error, node->node->name);
    } else if (!message->is_dead && came != wanted) {
        char text[ERROR_MESSAGE_SIZE];
        snprintf(text, sizeof text, "a tensor of type %s came instead of %s", dtype_name(came),
            dtype_name(wanted));
        tensor_unref(&message->tensor);
        run_fail(ticket->run, STATUS_INTERNAL, text, node->node->name);
    } else {
        ticket_propagate(ticket, node, &message->tensor, message->is_dead);
        tensor_unref(&message->tensor);
    }
}

static void
receive_continue(DeviceWork *work)
{
    RunReceive *receive = (RunReceive *)(void *)((char *)work - offsetof(RunReceive, work));
    Run *run = receive->run;
    Ticket ticket;
    ticket_begin(&ticket, run, arena_new(SCRATCH_MAX));
    receive_finish(&ticket, &run->partition->nodes[receive->node], &receive->message);
    arena_free(ticket_run(&ticket));
}

/* Comes on the thread that sent, or that aborted: compute goes on elsewhere; after an abort nothing is left
 * to compute. */
static void
receive_done(RendezvousWaiter *waiter, RendezvousMessage *message)
{
    RunReceive *receive = (RunReceive *)(void *)waiter;
    Run *run = receive->run;
    __atomic_store_n(&receive->is_waiting, false, __ATOMIC_RELAXED);
    if (message->code != STATUS_OK) {
        run_fail(run, message->code, message->error, run->partition->nodes[receive->node].node->name);
        ticket_drop(run);
        return;
    }
    receive->message = *message;
    message->tensor = (Tensor){0};
    receive->work.run = receive_continue;
    run->partition->device->schedule(run->partition->device, &receive->work);
}

/* The waiter counts as a ticket before it waits: the value may come before rendezvous_receive() returns. */
static void
receive_run(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead)
{
    (void)id;
    Run *run = ticket->run;
    if (is_dead) {
        ticket_propagate(ticket, node, NULL, true);
        return;
    }
    RunReceive *receive = &run->receives[node->index];
    RendezvousMessage message;
    receive->waiter.done = receive_done;
    __atomic_store_n(&receive->is_waiting, true, __ATOMIC_RELAXED);
    __atomic_add_fetch(&run->ticket_count, 1, __ATOMIC_RELAXED);
    if (rendezvous_receive(
            run->rendezvous, ticket->partition->keys[node->index], &receive->waiter, &message)) {
        __atomic_store_n(&receive->is_waiting, false, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&run->ticket_count, 1, __ATOMIC_RELAXED);
        receive_finish(ticket, node, &message);
    }
}

/* --- Dispatch ------------------------------------------------------------------------------------------- */

typedef void (*NodeRun)(Ticket *ticket, uint32_t id, const ScheduleNode *node, bool is_dead);

static const NodeRun NODE_RUNS[] = {
    [SCHEDULE_KERNEL] = kernel_run,
    [SCHEDULE_CONST] = const_run,
    [SCHEDULE_ARG] = arg_run,
    [SCHEDULE_RETVAL] = retval_run,
    [SCHEDULE_SEND] = send_run,
    [SCHEDULE_RECV] = receive_run,
    [SCHEDULE_SWITCH] = switch_run,
    [SCHEDULE_MERGE] = merge_run,
    [SCHEDULE_TRIGGER] = nothing_run,
    [SCHEDULE_NOTHING] = nothing_run,
};

void
node_run(Ticket *ticket, uint32_t id)
{
    const ScheduleNode *node = &ticket->partition->nodes[id];
    const uint64_t word = __atomic_load_n(&ticket->run->words[id], __ATOMIC_RELAXED);
    const bool is_dead = word >> 32 != 0 && node->kind != SCHEDULE_TRIGGER;
    NODE_RUNS[node->kind](ticket, id, node, is_dead);
}
