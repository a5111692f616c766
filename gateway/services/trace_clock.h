/* Puts what several workers told of one step, each on its own clock, on the gateway's clock.
 *
 * A worker's clock is unknown, but its run began after it was asked for, was over before the answer was
 * there, and no Recv ended before its Send had begun. Of all offsets that this allows, each slot gets the
 * least one: it exists as long as workers tell the truth. What contradicts is cut to fit. */
#pragma once

#include "shared/base/arena.h"
#include "shared/wire/trace.h"

/* One slot of the step. */
typedef struct SlotRows {
    WireTrace trace;
    uint64_t room_ns; /* between request and answer */
    uint64_t
        offset_ns; /* of the run's start since the step's: in, when it was asked for; out, when it began */
} SlotRows;

/* Rows keep their times relative to their run's start, but end within it, and start before they end. At most
 * SLOT_COUNT_MAX slots. False without memory. */
MUST_USE bool trace_clock_align(Arena *arena, SlotRows *slots, size_t slot_count);
