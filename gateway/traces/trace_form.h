/* Forms of a step's trace, by the names that requests and other gateways use. */
#pragma once

#include "gateway/traces/step_trace.h"

typedef struct TraceForm {
    const char *name;
    MUST_USE Status (*write)(Call *call, const StepTrace *trace, Buffer *json);
} TraceForm;

extern const TraceForm *const trace_form_default;

/* NULL when there is none of this name. */
const TraceForm *trace_form_find(Slice name);
