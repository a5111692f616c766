/* getStepTrace: when a step's slots and nodes ran, as Chrome's trace events. */
#include "gateway/services/resource_json.h"
#include "gateway/services/trace_cache.h"
#include "gateway/services/trace_json.h"

static Status
run(Call *call, const Request *request, Response *response)
{
    TraceCache *const traces = request_gateway(request)->traces;
    SessionId session;
    StepId id;
    TRY(session_id_read(call, request, &session));
    TRY(step_id_read(call, request, &id));
    AUTO_STEP_TRACE trace = trace_cache_get(traces, request->principal.tenant, session, id);
    if (trace == NULL) {
        char text[ID_TEXT_SIZE];
        id_to_text("stp", id.value, text);
        return call_fail(call, STATUS_NOT_FOUND,
            "there is no trace of step '%s' here: its options must ask for one, it must have ended, and a "
            "trace is kept only by the gateway that ran the step, in memory, until newer ones need the room",
            text);
    }
    return trace_json_write(call, trace, response_json(response));
}

HANDLER(get_step_trace) = {
    .operation_id = "getStepTrace",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}/trace",
    .access = ACCESS_TENANT,
    .run = run,
};
