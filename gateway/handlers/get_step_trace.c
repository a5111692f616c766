/* getStepTrace: shows when a step's slots and nodes ran, as Chrome's trace events or as TensorFlow's
 * StepStats. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/replicas/replica_mail.h"
#include "gateway/replicas/step_lookup.h"
#include "gateway/resources/resource.h"
#include "gateway/store/blobs.h"
#include "gateway/traces/trace_cache.h"
#include "gateway/traces/trace_form.h"

static Status
fail_without_trace(Call *call, StepId id)
{
    char text[ID_TEXT_SIZE];
    id_to_text("stp", id.value, text);
    return call_fail(call, STATUS_NOT_FOUND,
        "there is no trace of step '%s': its options must ask for one, it must have ended, and a trace is "
        "kept only in the memory of the gateway that ran the step, until newer ones need the room",
        text);
}

/* Asks the other gateways: only the one that ran the step has its trace. */
static Status
ask_others(
    Call *call, const Request *request, const StepLookup *lookup, const TraceForm *form, Response *response)
{
    const StepInquiry *inquiry = &lookup->inquiry;
    Store *store = NULL;
    StepRecord step;
    TraceBlob blob;
    TRY(request_store(call, request, &store));
    TRY(step_lookup_stored(call, store, lookup, &step));
    if (!step_state_is_ended(step.state)) {
        return fail_without_trace(call, inquiry->id);
    }
    TRY(replica_mail_ask_trace(call, lookup->mail, store, inquiry, form, &blob));
    return blob.is_found ? blobs_read(call, store, inquiry->tenant, &blob.digest,
                               (BlobRange){.size = SIZE_MAX}, response_json(response))
                         : fail_without_trace(call, inquiry->id);
}

static Status
read_form(Call *call, const Request *request, const TraceForm **ret_form)
{
    static const char *const names[] = {"format", NULL};
    Slice name = request_query(request, "format");
    TRY(request_query_allow(call, request, names));
    *ret_form = name.data == NULL ? &trace_form_chrome : trace_form_find(name);
    return *ret_form != NULL ? STATUS_OK
                             : call_fail(call, STATUS_INVALID_ARGUMENT,
                                   "'format' must be 'chrome' or 'step_stats', not '%.*s'",
                                   SLICE_PRINT(slice_part(name, 0, 64)));
}

static Status
run_get_step_trace(Call *call, const Request *request, Response *response)
{
    TraceCache *traces = request->parts->traces;
    const TraceForm *form = NULL;
    StepLookup lookup;
    TRY(step_lookup_read(call, request, request->parts->mail, request->parts->steps, &lookup));
    TRY(read_form(call, request, &form));
    const StepInquiry *inquiry = &lookup.inquiry;
    AUTO_STEP_TRACE trace = trace_cache_get(traces, inquiry->tenant, inquiry->session, inquiry->id);
    return trace == NULL ? ask_others(call, request, &lookup, form, response)
                         : form->write(call, trace, response_json(response));
}

HANDLER(get_step_trace) = {
    .operation_id = "getStepTrace",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}/trace",
    .access = ACCESS_TENANT,
    .run = run_get_step_trace,
};
