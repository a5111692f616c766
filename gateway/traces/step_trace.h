/* The trace of one step that has ended: when each slot was asked and answered, and the rows of its nodes
 * as the worker sent them. Reading them is left to whoever asks for the trace (trace_form.h).
 *
 * Ownership: refcounted.
 * Threads:   immutable; any. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/traces/trace_clock.h"

typedef struct TraceSlot {
    size_t number;                 /* the slot's number in the plan */
    char digest[PLAN_DIGEST_SIZE]; /* the partition that it ran */
    int32_t task;
    uint64_t sent_ns;     /* since the step's start, like answered_ns */
    uint64_t answered_ns; /* at least sent_ns */
    Slice nodes;          /* JSON (shared/wire/trace.h); empty: none */
} TraceSlot;

typedef struct StepTrace {
    int32_t reference_count; /* atomic */
    TenantId tenant;
    SessionId session;
    StepId id;
    int64_t attempt;
    uint64_t elapsed_ns;
    size_t size; /* bytes in memory */
    size_t slot_count;
    TraceSlot slots[]; /* the slots that were asked; their rows' text follows */
} StepTrace;

/* The step that a trace is of. */
typedef struct TraceOrigin {
    TenantId tenant;
    SessionId session;
    StepId id;
    const Plan *plan; /* the plan that the step has run */
} TraceOrigin;

/* Copies the workers' rows out of the report. NULL without memory. */
MUST_USE StepTrace *step_trace_new(const TraceOrigin *origin, const StepReport *report);
StepTrace *step_trace_ref(StepTrace *trace);
void step_trace_unref(StepTrace *trace); /* NULL is allowed */

static inline void
step_trace_unrefp(StepTrace **trace)
{
    step_trace_unref(*trace);
}
#define AUTO_STEP_TRACE CLEANUP(step_trace_unrefp) StepTrace *

enum { TRACE_ROWS_SIZE_MAX = 256 << 20 }; /* limit of an arena that holds a trace's rows */

/* Reads the rows of all slots and puts them on one clock: (*ret_slots)[i] is trace->slots[i]'s. The list
 * lives in the arena, as the rows, which point into the trace. INTERNAL when a worker's rows cannot be
 * read. */
MUST_USE Status step_trace_read_rows(Call *call, Arena *arena, const StepTrace *trace, SlotRows **ret_slots);
