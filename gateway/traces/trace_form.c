#include "gateway/traces/trace_form.h"

static const TraceForm *const forms[] = {&trace_form_chrome, &trace_form_step_stats};

const TraceForm *
trace_form_find(Slice name)
{
    for (size_t index = 0; index < COUNT_OF(forms); index++) {
        if (slice_equals_string(name, forms[index]->name)) {
            return forms[index];
        }
    }
    return NULL;
}
