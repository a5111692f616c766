/* Events in the form that EventSource reads (WHATWG HTML 9.2): each has an id, by which a client says where
 * to go on, a name and one line of JSON. A frame without data only moves the id.
 *
 * Errors: those of the Buffer; INVALID_ARGUMENT for an id that is none of ours. */
#pragma once

#include "gateway/store/events.h"
#include "shared/base/buffer.h"

void event_frame_write(Buffer *buffer, const Event *event);
void event_frame_write_id(Buffer *buffer, EventPosition position);

/* Says that events behind the client's last one may be gone: it has to read anew what it shows. */
void event_frame_write_reset(Buffer *buffer, EventPosition position);

/* Reads what a client sent as Last-Event-ID. */
MUST_USE Status event_frame_read_id(Call *call, Slice text, EventPosition *ret_position);
