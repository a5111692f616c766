/* A step's trace, read: the rows that each slot's worker told, all of them on one clock.
 *
 * Ownership: the rows live in the arena and point into the trace. */
#pragma once

#include "gateway/traces/step_trace.h"
#include "gateway/traces/trace_clock.h"

enum { TRACE_ROWS_SIZE_MAX = 256 << 20 }; /* of an arena that holds a trace's rows */

/* ret_slots[i] is trace->slots[i]'s; there is room for SLOT_COUNT_MAX. INTERNAL when what a worker told
 * cannot be read. */
MUST_USE Status trace_rows_read(Call *call, Arena *arena, const StepTrace *trace, SlotRows *ret_slots);
