#include "worker/runtime/run/part_plain.h"

#include "shared/base/clock.h"
#include "worker/runtime/run/compute.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/run_failure.h"

void
part_trace_member(const PartRun *run, uint32_t member)
{
    NodeTrace *trace = trace_of(run->ticket, part_activation(run, member));
    ticket_mark(run->ticket, part_activation(run, member));
    if (trace != NULL) {
        trace->start_ns = clock_monotonic_ns();
        trace->scheduled_ns = member == 0 ? trace->scheduled_ns : trace->start_ns;
    }
}

void
part_fail_member(const PartRun *run, uint32_t member)
{
    run_fail(run->ticket->run, failure_of_call(&run->ticket->call, part_node(run, member)->node->name));
}

void
part_run_plainly(const PartRun *run)
{
    Ticket *ticket = run->ticket;
    for (uint32_t i = 0; i < run->part->member_count && !run_has_failed(ticket->run); i++) {
        const ScheduleNode *node = part_node(run, i);
        Activation *activation = part_activation(run, i);
        Tensor *outputs = outputs_begin(ticket, activation, node);
        part_trace_member(run, i);
        if (!node_compute(ticket, activation, node, outputs)) {
            tensors_release(outputs, node->node->output_count);
            part_fail_member(run, i);
            return;
        }
        ticket_propagate(ticket, run->iteration, node, outputs, false);
        ticket_renew_arena(ticket);
    }
}
