#include "worker/runtime/memory/run_memory.h"

#include "shared/base/memory.h"

/* Of a run so far. Written by the node that makes the tensor, read by nodes behind it. */
typedef enum PlaceState {
    PLACE_UNTOUCHED,
    PLACE_TAKEN, /* at some time; free again with the buffer's last reference */
} PlaceState;

typedef struct Place {
    TensorBuffer buffer;
    PlaceState state;
} Place;

struct RunMemory {
    int32_t reference_count; /* atomic */
    MemoryPlan *plan;
    TensorBuffer *block;
    Place places[];
};

RunMemory *
run_memory_new(MemoryPlan *plan)
{
    RunMemory *const memory = memory_new(1, sizeof *memory + plan->buffer_count * sizeof memory->places[0]);
    if (memory != NULL) {
        memory->reference_count = 1;
        memory->plan = memory_plan_ref(plan);
    }
    return memory;
}

void
run_memory_unref(RunMemory *memory)
{
    if (memory == NULL || __atomic_sub_fetch(&memory->reference_count, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    tensor_buffer_unref(memory->block);
    memory_plan_unref(memory->plan);
    memory_free(memory);
}

bool
run_memory_begin(RunMemory *memory, Device *device)
{
    for (uint32_t i = 0; i < memory->plan->buffer_count; i++) {
        memory->places[i].state = PLACE_UNTOUCHED;
    }
    memory->block = device->allocate(device, (size_t)memory->plan->arena_bytes);
    return memory->block != NULL;
}

bool
run_memory_end(RunMemory *memory)
{
    const bool is_alone = __atomic_load_n(&memory->reference_count, __ATOMIC_ACQUIRE) == 1;
    if (is_alone) {
        tensor_buffer_unref(TAKE(memory->block));
    } else {
        run_memory_unref(memory);
    }
    return is_alone;
}

static void
place_release(TensorBuffer *buffer)
{
    run_memory_unref(buffer->owner);
}

/* Who had the bytes last must have had them really, and be gone. Who had them before that was gone then. */
static bool
is_free(const RunMemory *memory, const PlannedBuffer *planned)
{
    for (uint32_t i = 0; i < planned->former_count; i++) {
        const Place *const former = &memory->places[planned->former[i]];
        if (former->state != PLACE_TAKEN ||
            __atomic_load_n(&former->buffer.reference_count, __ATOMIC_ACQUIRE) > 0) {
            return false;
        }
    }
    return true;
}

TensorBuffer *
run_memory_take(RunMemory *memory, const Node *node, uint32_t port, size_t size)
{
    const MemoryPlan *const plan = memory->plan;
    const uint32_t index = plan->outputs[plan->starts[node->id] + port];
    if (index >= plan->buffer_count) {
        return NULL; /* none of its own: it may have been to take an input's over, and could not */
    }
    const PlannedBuffer *const planned = &plan->buffers[index];
    Place *const place = &memory->places[index];
    if (size > planned->size || place->state != PLACE_UNTOUCHED || !is_free(memory, planned)) {
        return NULL;
    }
    __atomic_add_fetch(&memory->reference_count, 1, __ATOMIC_RELAXED);
    place->state = PLACE_TAKEN;
    place->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = size,
        .data = (char *)memory->block->data + planned->offset,
        .release = place_release,
        .owner = memory,
    };
    return &place->buffer;
}

bool
run_memory_may_pass(const RunMemory *memory, const Node *node, uint32_t port, const TensorBuffer *buffer)
{
    const uint32_t planned = memory->plan->outputs[memory->plan->starts[node->id] + port];
    return planned == BUFFER_INPUT || (planned == BUFFER_NONE && buffer->release != place_release);
}
