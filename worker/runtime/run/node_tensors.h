/* Handles the tensors of a node that runs: its inputs, in slots of its iteration, and room for its
 * outputs.
 *
 * Threads: the one that runs the node. */
#pragma once

#include "worker/runtime/run/ticket.h"

/* Returns whether the kernel has made all outputs, of the dtypes that the node declares. When it has not,
 * the call's error says which one is wrong. */
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

/* Returns the inputs with the node's constants filled in. Each holds a reference, for tensors_release(). */
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

/* Returns room for the outputs, each of them absent (DTYPE_INVALID). */
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
