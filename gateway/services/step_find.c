#include "gateway/services/step_find.h"

#include "gateway/http/exchange.h"
#include "gateway/services/resource_json.h"
#include "gateway/services/step_json.h"

static Status
find_in_session(Call *call, Store *store, const StepInquiry *inquiry, StepRecord *ret_step)
{
    StepRecord step;
    TRY(steps_find(call, store, inquiry->tenant, inquiry->id, &step));
    if (!uuid_equal(step.session.value, inquiry->session.value)) {
        char text[ID_TEXT_SIZE];
        id_to_text("stp", inquiry->id.value, text);
        return call_fail(call, STATUS_NOT_FOUND, "step '%s' does not exist", text);
    }
    *ret_step = step;
    return STATUS_OK;
}

Status
step_find_stored(Call *call, Store *store, const StepLookup *lookup, StepRecord *ret_step)
{
    const StepInquiry *const inquiry = &lookup->inquiry;
    const Status status = find_in_session(call, store, inquiry, ret_step);
    if (status != STATUS_NOT_FOUND) {
        return status;
    }
    Call flushing = {.arena = call->arena, .deadline_ns = call->deadline_ns};
    if (recorder_flush(&flushing, inquiry->home->gateway->recorder) != STATUS_OK) {
        return status;
    }
    return find_in_session(call, store, inquiry, ret_step);
}

static Status
look_on_job(Call *call, void *job_context, void *owner)
{
    const StepLookup *const lookup = owner;
    Store *store = NULL;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    return lookup->stored(call, store, lookup);
}

static void
looked_on_job(Exchange *exchange, Status status, void *owner)
{
    (void)owner;
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        exchange_fail(exchange, status);
    }
}

static void
answered(StepInquiry *inquiry)
{
    StepLookup *const lookup = (StepLookup *)(void *)inquiry;
    Exchange *const exchange = lookup->exchange;
    if (inquiry->is_found) {
        step_write_document(exchange_response(exchange), &inquiry->record, NULL);
        exchange_finish(exchange);
    } else if (!exchange_offload(exchange, look_on_job, looked_on_job, lookup)) {
        exchange_fail(exchange,
            call_fail(exchange_call(exchange), STATUS_UNAVAILABLE, "too much is waiting for a job thread"));
    }
}

Status
step_lookup_read(Call *call, const Request *request, StepLookup *ret_lookup)
{
    StepInquiry inquiry = {.home = request->services, .tenant = request->principal.tenant};
    TRY(session_id_read(call, request, &inquiry.session));
    TRY(step_id_read(call, request, &inquiry.id));
    *ret_lookup = (StepLookup){.inquiry = inquiry};
    return STATUS_OK;
}

static Status
begin(Exchange *exchange, bool is_cancel, StepLookupStored stored, StepLookup **ret_lookup)
{
    Call *const call = exchange_call(exchange);
    StepLookup *const lookup = arena_alloc(call->arena, sizeof *lookup);
    if (lookup == NULL) {
        return call_fail_memory(call, "a look at a step");
    }
    TRY(step_lookup_read(call, exchange_request(exchange), lookup));
    lookup->exchange = exchange;
    lookup->stored = stored;
    lookup->inquiry.is_cancel = is_cancel;
    lookup->inquiry.answered = answered;
    *ret_lookup = lookup;
    return STATUS_OK;
}

void
step_look_up(Exchange *exchange, bool is_cancel, StepLookupStored stored)
{
    StepLookup *lookup = NULL;
    const Status status = begin(exchange, is_cancel, stored, &lookup);
    if (status == STATUS_OK) {
        step_inquire(&lookup->inquiry);
    } else {
        exchange_fail(exchange, status);
    }
}
