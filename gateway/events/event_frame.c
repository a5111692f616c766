#include "gateway/events/event_frame.h"

void
event_frame_write(Buffer *buffer, const Event *event)
{
    buffer_append_format(buffer, "id: %llu-%llu\nevent: %s\ndata: %s\n\n",
        (unsigned long long)event->position.transaction, (unsigned long long)event->position.number,
        event->kind, event->document);
}

void
event_frame_write_id(Buffer *buffer, EventPosition position)
{
    buffer_append_format(buffer, "id: %llu-%llu\n\n", (unsigned long long)position.transaction,
        (unsigned long long)position.number);
}

void
event_frame_write_reset(Buffer *buffer, EventPosition position)
{
    buffer_append_format(buffer,
        "id: %llu-%llu\nevent: reset\ndata: {\"reason\":\"events behind the last one that was read are no "
        "longer "
        "kept: read anew what is shown\"}\n\n",
        (unsigned long long)position.transaction, (unsigned long long)position.number);
}

Status
event_frame_read_id(Call *call, Slice text, EventPosition *ret_position)
{
    EventPosition position = {0};
    Slice rest = text;
    Slice transaction;
    bool is_read = slice_split(&rest, '-', &transaction) &&
                   slice_to_uint64(transaction, &position.transaction) &&
                   slice_to_uint64(rest, &position.number);
    if (!is_read || position.transaction > INT64_MAX || position.number > INT64_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'%.*s' is no id of an event: expected the last id that was read, as '<number>-<number>'",
            SLICE_PRINT(slice_part(text, 0, 64)));
    }
    *ret_position = position;
    return STATUS_OK;
}
