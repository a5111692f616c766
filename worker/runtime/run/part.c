#include "worker/runtime/run/part.h"

#include <assert.h>

#include "shared/base/buffer.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/part_turn.h"

enum {
    HOST_BYTES_MAX = 16 * 1024, /* of the elements in a key; what is about shapes is far smaller */
};

/* Passes the members' deadness on. What did come is released. */
static void
run_dead(const PartRun *run)
{
    for (uint32_t i = 0; i < run->part->member_count; i++) {
        const ScheduleNode *node = part_node(run, i);
        tensors_release(&run->iteration->slots[node->slot], node->node->input_count);
        ticket_propagate(run->ticket, run->iteration, node, NULL, true);
    }
}

/* Appends what kernels may choose their work by. False: it is more than is compared in each run. */
static bool
append_input(Buffer *key, const Tensor *tensor, bool is_read_on_host)
{
    uint16_t memory = tensor->buffer == NULL ? MEMORY_HOST : tensor->buffer->memory;
    size_t rank = (size_t)tensor->shape.rank;
    buffer_append(key, &tensor->dtype, sizeof tensor->dtype);
    buffer_append(key, &memory, sizeof memory);
    buffer_append(key, &rank, sizeof rank);
    buffer_append(key, tensor->shape.dims, rank * sizeof tensor->shape.dims[0]);
    if (is_read_on_host && tensor->buffer != NULL) {
        size_t size = tensor_byte_size(tensor);
        if (size > HOST_BYTES_MAX - (key->size < HOST_BYTES_MAX ? key->size : HOST_BYTES_MAX)) {
            return false;
        }
        buffer_append(key, tensor->data, size);
    }
    return true;
}

/* Makes the key of this run. False: the part runs plainly. */
static bool
make_key(const PartRun *run, Buffer *key)
{
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        if (!append_input(key, part_input(run, i), run->part->inputs[i].is_read_on_host)) {
            captures_count_refusal(run->captures, CAPTURE_READS_MUCH);
            return false;
        }
    }
    return buffer_is_ok(key);
}

void
part_run(Ticket *ticket, Activation *activation, const ScheduleNode *first, bool is_dead)
{
    const SchedulePart *part = first->part;
    PartRun run = {.ticket = ticket,
        .iteration = activation->iteration,
        .part = part,
        .device = ticket->partition->accelerator,
        .captures = ticket->partition->accelerator->captures};
    assert(part->members[0].node == first->node->id && run.captures != NULL);
    ticket->node_count += part->member_count - 1;
    ticket->loop_node_count += activation->iteration->frame == NULL ? 0 : part->member_count - 1;
    if (is_dead) {
        run_dead(&run);
        return;
    }
    AUTO_BUFFER key = {0};
    CaptureTurn turn = CAPTURE_PLAIN;
    if (make_key(&run, &key)) {
        turn = captures_begin(run.captures, without_const(&part->site), ticket->partition->tenant,
            buffer_slice(&key), &run.capture);
    }
    if (turn == CAPTURE_PLAIN) {
        part_run_plainly(&run);
    } else {
        part_run_turn(&run, turn);
    }
}
