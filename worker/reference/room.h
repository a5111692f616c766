/* An array that lasts beyond the kernel which makes it, and grows: what handles stand for keeps its elements
 * in one. It is the device's memory, so that it counts as tensors do.
 *
 * Ownership: a Room owns its bytes; room_free() gives them back. A zeroed one is empty.
 * Threads:   one at a time.
 * Errors:    false when there is no memory; the array is as it was. */
#pragma once

#include "worker/runtime/device.h"

typedef TensorBuffer *Room;

/* Moves the first `used` bytes to a place of `size` bytes, whose rest is not initialised. */
MUST_USE bool room_grow(Device *device, Room *room, size_t used, size_t size);
void room_free(Room *room);

static inline void *
room_data(Room room)
{
    return room == NULL ? NULL : room->data;
}
