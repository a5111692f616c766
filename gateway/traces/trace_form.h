/* Forms of a step's trace, by the names that requests and other gateways use. */
#pragma once

#include "gateway/traces/step_trace.h"

typedef struct TraceForm {
    const char *name;
    /* Appends the trace. INTERNAL when a worker's trace cannot be read. */
    MUST_USE Status (*write)(Call *call, const StepTrace *trace, Buffer *json);
} TraceForm;

/* Chrome's trace events (the JSON object format, which Perfetto opens): a process for each slot, in it a
 * thread for each thread of its worker and one or more for transfers, which may overlap. trace_clock.h says
 * how the slots' clocks are aligned. The form of a request that names none. */
extern const TraceForm trace_form_chrome;

/* TensorFlow's StepStats (step_stats.proto) in protobuf's JSON form, which its own timeline and profiling
 * tools read; a slot has a list of nodes for each of its worker's devices that took part. Times count from
 * the step's start. The bytes of all outputs of a node are told as output 0's. */
extern const TraceForm trace_form_step_stats;

/* NULL when there is none of this name. */
const TraceForm *trace_form_find(Slice name);
