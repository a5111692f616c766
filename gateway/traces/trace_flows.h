/* What a trace tells beside its spans: arrows from each Send to its Recv, and how much memory the workers'
 * devices had given out. */
#pragma once

#include "gateway/traces/step_trace.h"
#include "gateway/traces/trace_clock.h"
#include "shared/json/writer.h"

/* An arrow for each Recv whose Send is told of. The rows have their threads; slots[i] is trace->slots[i]'s.
 * False without memory. */
MUST_USE bool trace_flows_write(
    JsonWriter *writer, Arena *arena, const StepTrace *trace, const SlotRows *slots);

/* A counter for each node at whose end the device's memory was another than at the end before. Sorts the
 * rows by their ends. */
void trace_memory_write(JsonWriter *writer, size_t slot, SlotRows *rows);
