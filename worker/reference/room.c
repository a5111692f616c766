#include "worker/reference/room.h"

#include <assert.h>
#include <string.h>

bool
room_grow(Device *device, Room *room, size_t used, size_t size)
{
    assert(used <= size && (used == 0 || *room != NULL));
    TensorBuffer *larger = device->allocate(device, size);
    if (larger == NULL) {
        return false;
    }
    if (used > 0) {
        memcpy(larger->data, (*room)->data, used);
    }
    tensor_buffer_unref(*room);
    *room = larger;
    return true;
}

void
room_free(Room *room)
{
    tensor_buffer_unref(TAKE(*room));
}
