/* Puts what several workers told of one step, each on its own clock, on the gateway's clock.
 *
 * A worker's clock is unknown, but its run began after it was asked for, was over before the answer was
 * there, and no Recv ended before its Send had begun. Of all offsets that this allows, each slot gets the
 * least one: it exists as long as workers tell the truth. What contradicts is cut to fit. */
#pragma once

#include "shared/base/arena.h"
#include "shared/base/map.h"
#include "shared/wire/trace.h"

/* One slot of the step. */
typedef struct SlotRows {
    WireTrace trace;
    uint64_t room_ns; /* between request and answer */
    uint64_t
        offset_ns; /* of the run's start since the step's: in, when it was asked for; out, when it began */
} SlotRows;

/* A Send, and its slot. */
typedef struct TraceSent {
    size_t slot;
    const WireTraceRow *row;
} TraceSent;

/* `op` is "_Send" or "_Recv". */
bool trace_is_transfer(const WireTrace *trace, const WireTraceRow *row, const char *op);

/* Fills `sends` in: key → TraceSent, which point into the rows. False without memory. */
MUST_USE bool trace_sends_find(Arena *arena, const SlotRows *slots, size_t slot_count, Map *sends);

/* Rows keep their times relative to their run's start, but end within it, and start before they end. At most
 * SLOT_COUNT_MAX slots. False without memory. */
MUST_USE bool trace_clock_align(Arena *arena, SlotRows *slots, size_t slot_count);
