#include "gateway/traces/trace_event.h"

#include <inttypes.h>
#include <stdio.h>

void
trace_event_begin(JsonWriter *writer, const char *phase, Slice name, const char *category, TracePlace place)
{
    json_write_object_begin(writer);
    json_member_string(writer, "ph", phase);
    json_member_slice(writer, "name", name);
    if (category != NULL) {
        json_member_string(writer, "cat", category);
    }
    json_member_uint64(writer, "pid", place.slot);
    json_member_uint64(writer, "tid", place.thread);
}

void
trace_event_time(JsonWriter *writer, const char *name, uint64_t time_ns)
{
    char text[32];
    const int size =
        snprintf(text, sizeof text, "%" PRIu64 ".%03u", time_ns / 1000, (unsigned)(time_ns % 1000));
    json_write_name(writer, name);
    json_write_raw(writer, slice_of(text, (size_t)size));
}
