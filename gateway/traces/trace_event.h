/* Chrome's trace events, one at a time: what is the same in all of them. */
#pragma once

#include "shared/base/arena.h"
#include "shared/json/writer.h"

/* Where an event is drawn. */
typedef struct TracePlace {
    size_t slot;
    uint64_t thread;
} TracePlace;

/* Up to what is special to the phase: "X" a span, "C" a counter, "s" and "f" the ends of an arrow, "M" a
 * name. `category` may be NULL. */
void trace_event_begin(
    JsonWriter *writer, const char *phase, Slice name, const char *category, TracePlace place);

/* A member in microseconds, to the nanosecond. */
void trace_event_time(JsonWriter *writer, const char *name, uint64_t time_ns);
