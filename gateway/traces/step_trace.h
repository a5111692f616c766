/* The trace of one step that has ended: when each slot was asked and answered, and what its worker told of
 * its nodes, as it came. Putting them together is left to whoever asks for it (trace_json.h).
 *
 * Ownership: refcounted.
 * Threads:   immutable; any. */
#pragma once

#include "gateway/steps/step_call.h"

typedef struct TraceSlot {
    size_t number;                 /* in the plan */
    char digest[PLAN_DIGEST_SIZE]; /* of the partition that it ran */
    int32_t task;
    uint64_t sent_ns;     /* since the step's start, as the next */
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
    TraceSlot slots[SLOT_COUNT_MAX]; /* those that were asked */
    char text[];
} StepTrace;

/* NULL without memory. */
MUST_USE StepTrace *step_trace_new(const StepCall *step, const StepReport *report);
StepTrace *step_trace_ref(StepTrace *trace);
void step_trace_unref(StepTrace *trace); /* NULL is allowed */

static inline void
step_trace_unrefp(StepTrace **trace)
{
    step_trace_unref(*trace);
}
#define AUTO_STEP_TRACE CLEANUP(step_trace_unrefp) StepTrace *

/* Keeps the step's trace in the gateway's cache when its request asks for one. Before the step's end is
 * known elsewhere: who sees the end finds the trace. */
void step_trace_keep(const StepCall *step, const StepReport *report);
