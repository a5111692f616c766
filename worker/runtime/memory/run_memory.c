#include "worker/runtime/memory/run_memory.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"

/* A planned buffer in this run. The node that makes the tensor writes `is_used`; nodes that run after it
 * read it, without a lock. */
typedef struct RunBuffer {
    TensorBuffer buffer;
    bool is_used; /* was given out in this run; its bytes are free again when reference_count is 0 */
} RunBuffer;

struct RunMemory {
    PlannedMemory planned;   /* first: a PlannedMemory is one of these */
    int32_t reference_count; /* atomic */
    MemoryPlan *plan;
    TensorBuffer *block;
    RunBuffer buffers[]; /* one for each of plan->buffers */
};

static void
release_buffer(TensorBuffer *buffer)
{
    run_memory_unref(buffer->owner);
}

/* Returns whether the buffers that had these bytes just before were all given out and have come back. A
 * former buffer that was given out found those before it gone; one that never was proves nothing about
 * them, and so the bytes count as in use. */
static bool
is_free(const RunMemory *memory, const PlannedBuffer *planned)
{
    for (uint32_t i = 0; i < planned->former_count; i++) {
        const RunBuffer *former = &memory->buffers[planned->former[i]];
        if (!former->is_used || atomic_load_acquire(&former->buffer.reference_count) > 0) {
            return false;
        }
    }
    return true;
}

static TensorBuffer *
take_buffer(PlannedMemory *planned_memory, const Node *node, uint32_t port, size_t size)
{
    RunMemory *memory = (RunMemory *)(void *)planned_memory;
    const MemoryPlan *plan = memory->plan;
    assert(memory->block != NULL);
    uint32_t index = plan->outputs[plan->starts[node->id] + port];
    if (index >= plan->buffer_count) {
        return NULL; /* BUFFER_NONE, or BUFFER_INPUT of an input that could not be reused */
    }
    const PlannedBuffer *planned = &plan->buffers[index];
    RunBuffer *own = &memory->buffers[index];
    if (size > planned->size || own->is_used || !is_free(memory, planned)) {
        return NULL;
    }
    reference_count_add(&memory->reference_count);
    own->is_used = true;
    own->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = size,
        .data = (char *)memory->block->data + planned->offset,
        .release = release_buffer,
        .owner = memory,
    };
    return &own->buffer;
}

/* Lets an output take over an input's buffer when the plan says so, and, when the plan has nothing for the
 * output, any buffer outside of the arena: bytes of the arena are planned for other tensors next. */
static bool
may_pass_buffer(
    const PlannedMemory *planned_memory, const Node *node, uint32_t port, const TensorBuffer *buffer)
{
    const MemoryPlan *plan = ((const RunMemory *)(const void *)planned_memory)->plan;
    uint32_t planned = plan->outputs[plan->starts[node->id] + port];
    return planned == BUFFER_INPUT || (planned == BUFFER_NONE && buffer->release != release_buffer);
}

RunMemory *
run_memory_new(MemoryPlan *plan)
{
    assert(plan != NULL && plan->buffer_count > 0);
    RunMemory *memory = memory_new(1, sizeof *memory + plan->buffer_count * sizeof memory->buffers[0]);
    if (memory != NULL) {
        memory->planned = (PlannedMemory){.take = take_buffer, .may_pass = may_pass_buffer};
        memory->reference_count = 1;
        memory->plan = memory_plan_ref(plan);
    }
    return memory;
}

void
run_memory_unref(RunMemory *memory)
{
    if (memory == NULL || !reference_count_drop(&memory->reference_count)) {
        return;
    }
    tensor_buffer_unref(memory->block);
    memory_plan_unref(memory->plan);
    memory_free(memory);
}

PlannedMemory *
run_memory_planned(RunMemory *memory)
{
    return &memory->planned;
}

bool
run_memory_begin(RunMemory *memory, Device *device)
{
    assert(memory->block == NULL);
    for (uint32_t i = 0; i < memory->plan->buffer_count; i++) {
        memory->buffers[i].is_used = false;
    }
    memory->block = device->allocate(device, (size_t)memory->plan->arena_bytes);
    return memory->block != NULL;
}

bool
run_memory_end(RunMemory *memory)
{
    bool is_alone = atomic_load_acquire(&memory->reference_count) == 1;
    if (is_alone) {
        tensor_buffer_unref(TAKE(memory->block));
    } else {
        run_memory_unref(memory);
    }
    return is_alone;
}
