#include "worker/runtime/run/control_flow.h"

#include "shared/base/atomic.h"
#include "worker/runtime/run/frame.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/run_failure.h"

/* Passes the data to port 1 when the predicate holds, to port 0 otherwise; the other port is dead. */
void
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
void
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

void
enter_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    frame_enter(ticket, activation, node, pass_input(ticket, activation, node, is_dead), is_dead);
}

void
exit_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    frame_exit(ticket, activation, node, pass_input(ticket, activation, node, is_dead), is_dead);
}

void
next_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    frame_next(ticket, activation, node, pass_input(ticket, activation, node, is_dead), is_dead);
}

void
forward_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    Tensor *output = pass_input(ticket, activation, node, is_dead);
    ticket_propagate(ticket, activation->iteration, node, output, is_dead);
}
