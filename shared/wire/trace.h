/* When each node of a run ran: what a worker puts into its STATS frame (WireStats.trace), as JSON.
 *
 *     {"elapsed_ns":n,"nodes":[["name","Op","key",scheduled,start,end,thread,bytes],…],"left_out":n}
 *
 * Times count in nanoseconds from the run's start on the worker. A frame holds so much and no more: the first
 * rows go in, the others are counted.
 *
 * Ownership: what is read lives in call->arena or points into the text.
 * Threads:   pure functions.
 * Errors:    INVALID_ARGUMENT with line and column, also for more rows than the arena holds. Writing fails as
 *            the Buffer does. */
#pragma once

#include "shared/wire/frame.h"

enum { WIRE_TRACE_SIZE_MAX = FRAME_JSON_SIZE_MAX - 4096 }; /* leaves room for the other statistics */

typedef struct WireTraceRow {
    Slice name;
    Slice op;
    Slice key; /* of a transfer: what Send and Recv meet by; empty for other nodes */
    uint64_t scheduled_ns;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t thread; /* a small number */
    uint64_t output_bytes;
} WireTraceRow;

typedef struct WireTrace {
    uint64_t elapsed_ns;
    uint64_t left_out_count; /* nodes that ran, but have no row */
    WireTraceRow *rows;
    size_t row_count;
} WireTrace;

/* As many rows as WIRE_TRACE_SIZE_MAX bytes hold: put those first that matter. */
void wire_trace_write(Buffer *buffer, const WireTrace *trace);
MUST_USE Status wire_trace_read(Call *call, Slice json, WireTrace *ret_trace);
