/* What each kind of node does when it is ready and nothing failed before. Every function ends with
 * ticket_propagate(), run_fail(), or, for what has to wait, with a ticket more. */
#pragma once

#include "worker/runtime/run/executor.h"

typedef void (*NodeRun)(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* control_flow.c */
void switch_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void merge_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void enter_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void exit_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void next_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void forward_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* transfers.c */
void send_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);
void receive_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead);

/* A kernel that leaves an output out, or makes another type than it says, is wrong: false, and the call says
 * so. */
bool outputs_are_right(Call *call, const ScheduleNode *node, const Tensor *outputs);

static inline void
tensors_release(Tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tensor_buffer_unref(tensors[i].buffer);
        tensors[i].buffer = NULL;
        tensors[i].dtype = DTYPE_INVALID;
    }
}

static inline Tensor *
inputs_of(const Activation *activation, const ScheduleNode *node)
{
    return &activation->iteration->slots[node->slot];
}

/* The inputs with constants filled in, each holding a reference. */
static inline Tensor *
inputs_take(const Activation *activation, const ScheduleNode *node)
{
    Tensor *inputs = inputs_of(activation, node);
    for (uint32_t i = 0; i < node->constant_count; i++) {
        tensor_copy(&inputs[node->constants[i].input], node->constants[i].value);
        (void)tensor_buffer_ref(node->constants[i].value->buffer);
    }
    return inputs;
}

/* Room for the outputs, all of them absent so far. */
static inline Tensor *
outputs_begin(Ticket *ticket, const Activation *activation, const ScheduleNode *node)
{
    Tensor *outputs =
        node->output_slot == SLOT_NONE ? ticket->outputs : &activation->iteration->slots[node->output_slot];
    for (uint32_t i = 0; i < node->node->output_count; i++) {
        outputs[i].dtype = DTYPE_INVALID;
        outputs[i].data = NULL;
        outputs[i].buffer = NULL;
    }
    return outputs;
}
