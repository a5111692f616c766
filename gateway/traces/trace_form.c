#include "gateway/traces/trace_form.h"

#include "gateway/traces/step_stats.h"
#include "gateway/traces/trace_json.h"

static const TraceForm forms[] = {{"chrome", trace_json_write}, {"step_stats", step_stats_write}};

const TraceForm *const trace_form_default = &forms[0];

const TraceForm *
trace_form_find(Slice name)
{
    for (size_t index = 0; index < COUNT_OF(forms); index++) {
        if (slice_equals_string(name, forms[index].name)) {
            return &forms[index];
        }
    }
    return NULL;
}
