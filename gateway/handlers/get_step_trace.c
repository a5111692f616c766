/* getStepTrace: shows when a step's slots and nodes ran, as Chrome's trace events or as TensorFlow's
 * StepStats. */
#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
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

/* Answers with the trace that another gateway has put among the tenant's blobs. */
static Status
answer_handed_on(Call *call, Store *store, StepLookup *lookup)
{
    const StepInquiry *inquiry = &lookup->inquiry;
    TraceBlob blob;
    TRY(replica_mail_read_trace(call, &lookup->question, &blob));
    return blob.is_found
               ? blobs_read(call, store, inquiry->tenant, &blob.digest, (BlobRange){.size = SIZE_MAX},
                     response_json(exchange_response(lookup->exchange)))
               : fail_without_trace(call, inquiry->id);
}

/* Asks the other gateways: only the one that ran the step has its trace. */
static Status
ask_others(Call *call, Store *store, StepLookup *lookup, const StepRecord *step)
{
    const TraceForm *form = NULL;
    if (!step_state_is_ended(step->state)) {
        return fail_without_trace(call, step->id);
    }
    TRY(read_form(call, exchange_request(lookup->exchange), &form));
    return step_lookup_ask(call, store, lookup, form->name, answer_handed_on);
}

/* A trace that this gateway has, while a job thread writes it. */
typedef struct OwnTrace {
    StepTrace *trace;
    const TraceForm *form;
    Exchange *exchange;
} OwnTrace;

static void
own_trace_done(void *resource)
{
    step_trace_unref(((OwnTrace *)resource)->trace);
}

static Status
write_own(Call *call, JobContext *job_context, void *owner)
{
    (void)job_context;
    const OwnTrace *own = owner;
    TRY(own->form->write(call, own->trace, response_json(exchange_response(own->exchange))));
    exchange_render(own->exchange);
    return STATUS_OK;
}

static void
end_own(Exchange *exchange, Status status, void *owner)
{
    (void)owner;
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        exchange_fail(exchange, status);
    }
}

/* Looks for the trace in this gateway; *ret_own stays NULL when it is not there. */
static Status
find_own(Exchange *exchange, OwnTrace **ret_own)
{
    const Parts *parts = exchange_request(exchange)->parts;
    Call *call = exchange_call(exchange);
    StepLookup named;
    const TraceForm *form = NULL;
    TRY(step_lookup_read(call, exchange_request(exchange), parts->mail, parts->steps, &named));
    TRY(read_form(call, exchange_request(exchange), &form));
    const StepInquiry *inquiry = &named.inquiry;
    AUTO_STEP_TRACE trace = trace_cache_get(parts->traces, inquiry->tenant, inquiry->session, inquiry->id);
    OwnTrace *own = trace == NULL ? NULL : arena_alloc(call->arena, sizeof *own);
    if (trace != NULL && (own == NULL || arena_defer(call->arena, own_trace_done, own) == NULL)) {
        return call_fail_memory(call, "a step's trace");
    }
    if (own != NULL) {
        *own = (OwnTrace){.trace = TAKE(trace), .form = form, .exchange = exchange};
    }
    *ret_own = own;
    return STATUS_OK;
}

static void
start_get_step_trace(Exchange *exchange)
{
    const Parts *parts = exchange_request(exchange)->parts;
    OwnTrace *own = NULL;
    Status status = find_own(exchange, &own);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (own == NULL) {
        step_look_up(exchange, parts->mail, parts->steps, false, ask_others);
    } else if (!exchange_offload(exchange, write_own, end_own, own)) {
        exchange_fail(exchange, exchange_note_overload(exchange));
    }
}

HANDLER(get_step_trace) = {
    .operation_id = "getStepTrace",
    .method = "GET",
    .path = "/api/v1/sessions/{session}/steps/{step}/trace",
    .access = ACCESS_TENANT,
    .start = start_get_step_trace,
};
