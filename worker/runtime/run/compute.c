#include "worker/runtime/run/compute.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/running.h"

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
    int64_t now = elapsed_ns < COST_DEAD ? (int64_t)elapsed_ns : COST_DEAD - 1;
    int64_t next = old >= COST_DEAD ? now : old + (now - old) / AVERAGE_WEIGHT;
    int64_t counted = old == COST_UNKNOWN ? COST_GUESS : old;
    int64_t change = next - (old == COST_DEAD ? 0 : counted);
    atomic_store_relaxed(&partition->costs[id], (uint32_t)next);
    atomic_add_relaxed(&partition->total_cost, (uint64_t)change);
}

void
node_note_dead(const Ticket *ticket, uint32_t id)
{
    Partition *partition = ticket->run->partition;
    uint32_t expected = COST_UNKNOWN;
    if (atomic_load_relaxed(&partition->costs[id]) == COST_UNKNOWN &&
        atomic_compare_exchange_acq_rel(&partition->costs[id], &expected, COST_DEAD)) {
        atomic_sub_relaxed(&partition->total_cost, (uint64_t)COST_GUESS);
    }
}

KernelContext
node_context(Ticket *ticket, const ScheduleNode *node, Tensor *inputs, Tensor *outputs)
{
    return (KernelContext){
        .call = &ticket->call,
        .device = node->device,
        .host = ticket->partition->device,
        .lane = ticket->run->lane,
        .host_outputs = device_is_host(node->device) ? 0 : node->kernel->host_outputs,
        .allows_tf32 = ticket->partition->allows_tf32,
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

/* Lets an accelerator's kernel enqueue its work. */
static Status
enqueue(KernelContext *context, const ScheduleNode *node)
{
    Device *device = context->device;
    device->enter(device, context->lane);
    Status status = node->kernel->compute(context);
    Status left = device->leave(context->call, device, context->lane);
    return status == STATUS_OK ? left : status;
}

bool
node_compute(Ticket *ticket, Activation *activation, const ScheduleNode *node, Tensor *outputs)
{
    uint32_t id = activation->node;
    Tensor *inputs = inputs_take(activation, node);
    KernelContext context = node_context(ticket, node, inputs, outputs);
    bool is_timed = is_measured(ticket, id);
    uint64_t start_ns = is_timed ? clock_monotonic_ns() : 0;
    running_begin(ticket->run, id, start_ns);
    bool is_on_host = device_is_host(node->device);
    bool is_direct = is_on_host || ticket->is_capturing;
    Status status = is_direct ? node->kernel->compute(&context) : enqueue(&context, node);
    ticket->accelerated_count += !is_direct;
    ticket->kept_count += node->is_kept;
    ticket->missing_count += node->lacks_kernel;
    running_end();
    if (is_timed) {
        note_cost(ticket, id, clock_monotonic_ns() - start_ns);
    }
    trace_kernel(trace_of(ticket, activation), &context);
    tensors_release(inputs, node->node->input_count);
    return status == STATUS_OK && outputs_are_right(&ticket->call, node, outputs);
}
