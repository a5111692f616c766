/* Fuzzes traceparent headers: an accepted one is written in a form that is accepted again. */
#include <assert.h>

#include "shared/telemetry/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TraceContext trace;
    TraceContext again;
    char text[TRACE_TEXT_SIZE];
    if (trace_parse(slice_of(data, size), &trace)) {
        trace_format(&trace, text);
        bool is_read = trace_parse(slice_from_string(text), &again);
        assert(is_read);
        assert(memcmp(again.trace_id, trace.trace_id, sizeof trace.trace_id) == 0);
        assert(memcmp(again.span_id, trace.span_id, sizeof trace.span_id) == 0);
        assert(again.is_sampled == trace.is_sampled);
    }
    return 0;
}
