#include "worker/runtime/run/iteration.h"

#include <assert.h>

#include "shared/base/memory.h"

static size_t
reserve_items(size_t *size, size_t count, size_t item)
{
    size_t offset = (*size + MEMORY_CACHE_LINE - 1) / MEMORY_CACHE_LINE * MEMORY_CACHE_LINE;
    *size = offset + count * item;
    return offset;
}

static void
link_iteration(Iteration *iteration, const Partition *partition, char *keys)
{
    const ScheduleFrame *schedule = iteration->schedule;
    for (uint32_t cell = 0; cell < schedule->cell_count; cell++) {
        Activation *activation = &iteration->activations[cell];
        const ScheduleNode *node = &partition->nodes[schedule->nodes[cell]];
        activation->iteration = iteration;
        activation->node = schedule->nodes[cell];
        if (node->kind == SCHEDULE_SEND || node->kind == SCHEDULE_RECV) {
            Transfer *transfer = &iteration->transfers[node->index];
            transfer->resumption.activation = activation;
            transfer->key = node->key;
            transfer->bytes = keys + node->index * schedule->key_size;
        }
    }
}

Iteration *
iteration_new(Run *run, const Partition *partition, uint32_t frame)
{
    assert(frame < partition->frame_count);
    const ScheduleFrame *schedule = &partition->frames[frame];
    size_t size = sizeof(Iteration);
    size_t activations = reserve_items(&size, schedule->cell_count, sizeof(Activation));
    size_t slots = reserve_items(&size, schedule->slot_count, sizeof(Tensor));
    size_t transfers = reserve_items(&size, schedule->transfer_count, sizeof(Transfer));
    size_t children = reserve_items(&size, schedule->child_count, sizeof(Frame *));
    size_t keys =
        reserve_items(&size, frame == FRAME_ROOT ? 0 : schedule->transfer_count, schedule->key_size);
    char *bytes = memory_new(1, size);
    if (bytes == NULL) {
        return NULL;
    }
    Iteration *iteration = (Iteration *)(void *)bytes;
    iteration->run = run;
    iteration->schedule = schedule;
    iteration->size = size;
    iteration->activations = (Activation *)(void *)(bytes + activations);
    iteration->slots = (Tensor *)(void *)(bytes + slots);
    iteration->transfers = (Transfer *)(void *)(bytes + transfers);
    iteration->children = (Frame **)(void *)(bytes + children);
    link_iteration(iteration, partition, bytes + keys);
    return iteration;
}

void
iteration_free(Iteration *iteration)
{
    memory_free(iteration);
}

void
iteration_reset(Iteration *iteration)
{
    const ScheduleFrame *schedule = iteration->schedule;
    Activation *activations = iteration->activations;
    for (uint32_t cell = 0; cell < schedule->cell_count; cell++) {
        activations[cell].word = schedule->initial[cell];
    }
    iteration->outstanding = 0;
}

void
iteration_clear(Iteration *iteration)
{
    for (uint32_t i = 0; i < iteration->schedule->slot_count; i++) {
        tensor_buffer_unref(iteration->slots[i].buffer);
        iteration->slots[i].buffer = NULL;
        iteration->slots[i].dtype = DTYPE_INVALID;
    }
}

TraceScope
iteration_trace_scope(const Iteration *iteration)
{
    const ScheduleFrame *schedule = iteration->schedule;
    return (TraceScope){
        .frame = schedule->number,
        .numbers = schedule->nodes,
        .node_count = schedule->cell_count,
    };
}

static char *
append_slice(char *end, Slice text)
{
    memcpy(end, text.data, text.size);
    return end + text.size;
}

static char *
append_number(char *end, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *end++ = digits[--count];
    }
    return end;
}

Slice
iteration_key(Iteration *iteration, const ScheduleNode *node)
{
    const Iteration *path[FRAME_DEPTH_MAX + 1];
    uint32_t depth = 0;
    for (const Iteration *at = iteration; at->frame != NULL; at = at->frame->parent) {
        path[depth++] = at;
    }
    Transfer *transfer = &iteration->transfers[node->index];
    char *end = append_slice(transfer->bytes, node->key);
    while (depth-- > 0) {
        end = append_slice(end, path[depth]->schedule->name);
        *end++ = ':';
        end = append_number(end, path[depth]->number);
        if (depth > 0) {
            *end++ = '/';
        }
    }
    transfer->key = slice_of(transfer->bytes, (size_t)(end - transfer->bytes));
    return transfer->key;
}

Frame *
frame_new(const ScheduleFrame *schedule)
{
    size_t tensors = (size_t)schedule->next_count + schedule->constant_count;
    size_t flags = (size_t)schedule->exit_count + schedule->constant_count;
    Frame *frame = memory_new(1, sizeof *frame + tensors * sizeof(Tensor) + flags * sizeof(bool));
    if (frame != NULL) {
        frame->schedule = schedule;
        frame->waiting = (Tensor *)(void *)(frame + 1);
        frame->constants = frame->waiting + schedule->next_count;
        frame->has_constant = (bool *)(void *)(frame->waiting + tensors);
        frame->has_left = frame->has_constant + schedule->constant_count;
        list_init(&frame->live);
    }
    return frame;
}
