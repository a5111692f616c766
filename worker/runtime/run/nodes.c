#include "worker/runtime/run/nodes.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/runtime/run/args.h"
#include "worker/runtime/run/control_flow.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/promise.h"
#include "worker/runtime/run/run_failure.h"
#include "worker/runtime/run/running.h"
#include "worker/runtime/run/transfers.h"
#include "worker/runtime/variable.h"

enum { AVERAGE_WEIGHT = 8 }; /* a new measurement weighs 1 / 8 in the average */

static bool
is_measured(const Ticket *ticket, uint32_t id)
{
    const ScheduleNode *node = &ticket->partition->nodes[id];
    uint32_t cost = atomic_load_relaxed(&ticket->partition->costs[id]);
    return !node->is_cheap && (cost == COST_UNKNOWN || cost > CLOCK_NS_PER_US || ticket->run->measures_all);
}

/* Adds a measurement to the node's moving average. Two runs that measure at the same time may lose one of
 * the two measurements, which an average tolerates. */
static void
note_cost(const Ticket *ticket, uint32_t id, uint64_t elapsed_ns)
{
    Partition *partition = ticket->run->partition;
    uint32_t old = atomic_load_relaxed(&partition->costs[id]);
    int64_t now = elapsed_ns < COST_UNKNOWN ? (int64_t)elapsed_ns : COST_UNKNOWN - 1;
    int64_t next = old == COST_UNKNOWN ? now : old + (now - old) / AVERAGE_WEIGHT;
    int64_t change = next - (old == COST_UNKNOWN ? COST_GUESS : (int64_t)old);
    atomic_store_relaxed(&partition->costs[id], (uint32_t)next);
    atomic_add_relaxed(&partition->total_cost, (uint64_t)change);
}

static KernelContext
context_of(Ticket *ticket, const ScheduleNode *node, Tensor *inputs, Tensor *outputs)
{
    return (KernelContext){
        .call = &ticket->call,
        .device = ticket->partition->device,
        .node = node->node,
        .state = node->state,
        .container = ticket->run->container,
        .memory = ticket->run->memory == NULL ? NULL : run_memory_planned(ticket->run->memory),
        .account = ticket->run->account,
        .inputs = inputs,
        .input_count = node->node->input_count,
        .outputs = outputs,
        .output_count = node->node->output_count,
    };
}

static bool
kernel_compute(Ticket *ticket, Activation *activation, const ScheduleNode *node, Tensor *outputs)
{
    uint32_t id = activation->node;
    Tensor *inputs = inputs_take(activation, node);
    KernelContext context = context_of(ticket, node, inputs, outputs);
    bool is_timed = is_measured(ticket, id);
    uint64_t start_ns = is_timed ? clock_monotonic_ns() : 0;
    running_begin(ticket->run, id, start_ns);
    Status status = node->kernel->compute(&context);
    running_end();
    if (is_timed) {
        note_cost(ticket, id, clock_monotonic_ns() - start_ns);
    }
    trace_kernel(trace_of(ticket, activation), &context);
    tensors_release(inputs, node->node->input_count);
    return status == STATUS_OK && outputs_are_right(&ticket->call, node, outputs);
}

/* Runs the part of a kernel that runs despite dead inputs (Kernel.compute_dead). False: it failed, and
 * with it the run. */
static bool
kernel_compute_dead(Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    KernelContext context = context_of(ticket, node, inputs_take(activation, node), NULL);
    Status status = node->kernel->compute_dead(&context);
    if (status != STATUS_OK) {
        run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
    }
    return status == STATUS_OK;
}

static void
kernel_run_dead(Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    bool is_right = node->kernel->compute_dead == NULL || kernel_compute_dead(ticket, activation, node);
    tensors_release(inputs_of(activation, node), node->node->input_count);
    if (is_right) {
        ticket_propagate(ticket, activation->iteration, node, NULL, true);
    }
}

static void
kernel_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    if (is_dead) {
        kernel_run_dead(ticket, activation, node);
        return;
    }
    Tensor *outputs = outputs_begin(ticket, activation, node);
    if (kernel_compute(ticket, activation, node, outputs)) {
        ticket_propagate(ticket, activation->iteration, node, outputs, false);
    } else {
        tensors_release(outputs, node->node->output_count);
        run_fail(ticket->run, failure_of_call(&ticket->call, node->node->name));
    }
}

static void
const_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    if (!is_dead) {
        ticket->outputs[0] = tensor_ref(node->value);
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
