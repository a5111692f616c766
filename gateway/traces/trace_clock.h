/* Puts the rows of several workers, each on its own clock, on the gateway's clock.
 *
 * A worker's clock is unknown, but its run began after the request was sent, was over before the answer
 * came, and no Recv ended before its Send had begun. Each slot gets the least offset that this allows; it
 * exists as long as workers tell the truth. Times that contradict are cut to fit. */
#pragma once

#include "shared/base/arena.h"
#include "shared/base/map.h"
#include "shared/wire/trace.h"

/* The rows of one slot. */
typedef struct SlotRows {
    WireTrace trace;
    uint64_t room_ns;   /* between request and answer */
    uint64_t offset_ns; /* of the run's start since the step's; before alignment, of the request's */
} SlotRows;

/* A Send's row, and its slot. */
typedef struct TraceSent {
    size_t slot;
    const WireTraceRow *row;
} TraceSent;

/* Returns whether the row is a transfer by this op, "_Send" or "_Recv". */
bool trace_is_transfer(const WireTrace *trace, const WireTraceRow *row, const char *op);

/* Fills `sends` with key → TraceSent, which point into the rows. False without memory. */
MUST_USE bool trace_sends_find(Arena *arena, const SlotRows *slots, size_t slot_count, Map *sends);

/* Finds the slots' offsets. Rows keep their times relative to their run's start, but end within it, and
 * start before they end. Scratch memory from the arena is 24 bytes for each pair of slots that tensors go
 * between. False without memory. */
MUST_USE bool trace_clock_align(Arena *arena, SlotRows *slots, size_t slot_count);
