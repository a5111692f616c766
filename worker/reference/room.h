/* A growing array that outlasts the kernel that makes it: a resource keeps its elements in one. It is
 * device memory, so that it counts as tensors do.
 *
 * Ownership: a Room owns its bytes; room_free() frees them. A zeroed one is empty.
 * Threads:   one at a time.
 * Errors:    false when there is no memory; the array is unchanged then. */
#pragma once

#include "worker/runtime/device.h"

typedef TensorBuffer *Room;

/* Moves the first `used` bytes into new memory of `size` bytes; the others are uninitialised. */
MUST_USE bool room_grow(Device *device, Room *room, size_t used, size_t size);
void room_free(Room *room);

static inline void *
room_data(Room room)
{
    return room == NULL ? NULL : room->data;
}
