#include "worker/runtime/capture_memory.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { PLACE_ALIGNMENT = 256 };

/* Bytes of the block that are in use. */
typedef struct Place {
    TensorBuffer buffer; /* first: a TensorBuffer is one of these */
    CaptureMemory *memory;
    TensorBuffer *measured; /* the device's, while measuring; NULL: the bytes are the block's */
    ListLink link;          /* in the order of offsets */
    size_t offset;
    size_t size;
} Place;

struct CaptureMemory {
    int32_t reference_count; /* atomic */
    Device *device;
    TensorBuffer *block; /* NULL: measures */
    Mutex lock;          /* guards what follows */
    ListLink places;
    size_t size;
    uint64_t total;
};

static _Thread_local CaptureMemory *entered;

CaptureMemory *
capture_memory_new(Device *device, TensorBuffer *block)
{
    assert(!device_is_host(device));
    CaptureMemory *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->reference_count = 1;
    made->device = device;
    made->block = block;
    mutex_init(&made->lock);
    list_init(&made->places);
    return made;
}

/* Reserved places have no buffer that would give them back. */
static void
free_reserved(CaptureMemory *memory)
{
    LIST_EACH(&memory->places, link)
    {
        memory_free(LIST_ITEM(link, Place, link));
    }
}

void
capture_memory_unref(CaptureMemory *memory)
{
    if (memory == NULL || !reference_count_drop(&memory->reference_count)) {
        return;
    }
    free_reserved(memory);
    tensor_buffer_unref(memory->block);
    mutex_done(&memory->lock);
    memory_free(memory);
}

CaptureMemory *
capture_memory_enter(CaptureMemory *memory)
{
    CaptureMemory *before = entered;
    entered = memory;
    return before;
}

CaptureMemory *
capture_memory_of(const Device *device)
{
    return entered != NULL && entered->device == device ? entered : NULL;
}

/* Puts a place into the smallest gap that is large enough, or behind all others. Called with the lock held.
 * False: the block is full. */
static bool
find_place(CaptureMemory *memory, Place *place)
{
    ListLink *before = memory->places.previous;
    size_t end = list_is_empty(&memory->places)
                     ? 0
                     : LIST_ITEM(before, Place, link)->offset + LIST_ITEM(before, Place, link)->size;
    size_t smallest = SIZE_MAX;
    size_t from = 0;
    place->offset = end;
    LIST_EACH(&memory->places, link)
    {
        const Place *next = LIST_ITEM(link, Place, link);
        size_t gap = next->offset - from;
        if (gap >= place->size && gap < smallest) {
            smallest = gap;
            before = link->previous;
            place->offset = from;
        }
        from = next->offset + next->size;
    }
    if (memory->block != NULL && place->offset + place->size > memory->block->size) {
        return false;
    }
    place->link = (ListLink){.previous = before, .next = before->next};
    before->next->previous = &place->link;
    before->next = &place->link;
    end = place->offset + place->size;
    memory->size = end > memory->size ? end : memory->size;
    memory->total += place->size;
    return true;
}

static Place *
new_place(CaptureMemory *memory, size_t size)
{
    Place *place = size > SIZE_MAX / 2 ? NULL : memory_new(1, sizeof *place);
    if (place == NULL) {
        return NULL;
    }
    size_t rounded = (size + PLACE_ALIGNMENT - 1) / PLACE_ALIGNMENT * PLACE_ALIGNMENT;
    place->memory = memory;
    place->size = rounded == 0 ? PLACE_ALIGNMENT : rounded;
    mutex_lock(&memory->lock);
    bool is_found = find_place(memory, place);
    mutex_unlock(&memory->lock);
    if (!is_found) {
        memory_free(place);
        return NULL;
    }
    return place;
}

static void
free_place(Place *place)
{
    CaptureMemory *memory = place->memory;
    mutex_lock(&memory->lock);
    list_remove(&place->link);
    mutex_unlock(&memory->lock);
    memory_free(place);
}

static void
release_place(TensorBuffer *buffer)
{
    Place *place = (Place *)(void *)buffer;
    CaptureMemory *memory = place->memory;
    tensor_buffer_unref(place->measured);
    free_place(place);
    capture_memory_unref(memory);
}

bool
capture_memory_measures(const CaptureMemory *memory)
{
    return memory->block == NULL;
}

TensorBuffer *
capture_memory_give(CaptureMemory *memory, size_t size, TensorBuffer *measured)
{
    assert(capture_memory_measures(memory) == (measured != NULL));
    Place *place = new_place(memory, size);
    if (place == NULL) {
        tensor_buffer_unref(measured);
        return NULL;
    }
    reference_count_add(&memory->reference_count);
    place->measured = measured;
    place->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = size,
        .data = measured != NULL ? measured->data : (char *)memory->block->data + place->offset,
        .release = release_place,
        .owner = memory,
        .memory = memory->device->memory_number,
    };
    return &place->buffer;
}

bool
capture_memory_reserve(CaptureMemory *memory, size_t size)
{
    return new_place(memory, size) != NULL;
}

size_t
capture_memory_size(const CaptureMemory *memory)
{
    return memory->size;
}

uint64_t
capture_memory_total(const CaptureMemory *memory)
{
    return memory->total;
}
