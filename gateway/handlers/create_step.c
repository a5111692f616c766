/* createStep: runs a step and answers with its result.
 *
 * Happy path: start() prepares on the loop from the caches → step_start() dispatches → outputs are kept, or
 * sent as they come (step_reply.h) → step_done() writes the rest. On a miss, or with a large body, preparing
 * goes to a job thread first.
 *
 * Failures: whatever stage fails ends the exchange with its Status; a client that hangs up cancels the step
 * on every worker. */
#include "gateway/services/step_call.h"

#include "shared/base/clock.h"

enum { LOOP_BODY_SIZE_MAX = 256 * 1024, BODY_SIZE_MAX = 64 << 20 };

/* --- Running -------------------------------------------------------------------------------------------- */

static void
step_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    step_reply_output(context, fetch, tensor);
}

static void
step_done(void *context, const StepReport *report)
{
    StepCall *const step = context;
    step->run = NULL;
    step_reply_end(step, report);
}

static void
client_gone(Exchange *exchange, void *owner)
{
    (void)exchange;
    StepCall *const step = owner;
    if (step->run != NULL) {
        step_cancel(step->run);
    }
}

static void
run(StepCall *step)
{
    static const StepEvents events = {.on_output = step_output, .on_done = step_done};
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    uuid_to_text(step->tenant.value, tenant);
    id_to_text("ses", step->session_id.value, session);
    const uint64_t deadline_ns = clock_monotonic_ns() + step->body.timeout_ms * CLOCK_NS_PER_MS;
    const StepRequest request = {
        .id = step->id,
        .plan = step->plan,
        .feeds = step->feeds,
        .feed_count = step->body.feed_count,
        .tenant = tenant,
        .session = session,
        .request_id = step->call->request_id,
        .deadline_ns = deadline_ns,
        .is_pure = step->plan->is_pure || step->body.is_idempotent,
        .has_trace = step->body.has_trace,
    };
    char id[ID_TEXT_SIZE];
    id_to_text("stp", step->id.value, id);
    response_header_format(
        exchange_response(step->exchange), "Location", "/api/v1/sessions/%s/steps/%s", session, id);
    /* The step's deadline is the request's, and its report must still be written. */
    enum { REPLY_GRACE_MS = 1000 };
    exchange_deadline(step->exchange, deadline_ns + REPLY_GRACE_MS * CLOCK_NS_PER_MS);
    step->run = step_start(step->loop->dispatcher, &request, &events, step);
    if (step->run == NULL) {
        exchange_fail(step->exchange, call_fail_memory(step->call, "a step"));
        return;
    }
    exchange_on_cancel(step->exchange, client_gone, step);
}

static void
dispatch(StepCall *step)
{
    const Status status = step_reply_choose(step);
    if (status != STATUS_OK) {
        exchange_fail(step->exchange, status);
    } else {
        run(step);
    }
}

/* --- Preparing ------------------------------------------------------------------------------------------ */

static Status
prepare_on_job(Call *call, void *job_context, void *owner)
{
    (void)call;
    StepCall *const step = owner;
    bool needs_job = false;
    return step_call_prepare(step, exchange_request(step->exchange)->body, job_context, &needs_job);
}

static void
prepared_on_job(Exchange *exchange, Status status, void *owner)
{
    if (status == STATUS_OK) {
        dispatch(owner);
    } else {
        exchange_fail(exchange, status);
    }
}

static Status
prepare(StepCall *step, bool *ret_needs_job)
{
    const Request *const request = exchange_request(step->exchange);
    const Slice session = request_parameter(request, "session");
    if (!id_from_text("ses", session, &step->session_id.value)) {
        return call_fail(step->call, STATUS_NOT_FOUND, "session '%.*s' does not exist",
            SLICE_PRINT(slice_part(session, 0, 64)));
    }
    if (request->body.size > LOOP_BODY_SIZE_MAX) {
        *ret_needs_job = true;
        return STATUS_OK;
    }
    return step_call_prepare(step, request->body, NULL, ret_needs_job);
}

static void
start(Exchange *exchange)
{
    Call *const call = exchange_call(exchange);
    StepCall *const step = step_call_new(exchange);
    bool needs_job = false;
    if (step == NULL) {
        exchange_fail(exchange, call_fail_memory(call, "a step"));
        return;
    }
    const Status status = prepare(step, &needs_job);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (!needs_job) {
        dispatch(step);
    } else if (!exchange_offload(exchange, prepare_on_job, prepared_on_job, step)) {
        exchange_fail(exchange, call_fail(call, STATUS_UNAVAILABLE, "too much is waiting for a job thread"));
    }
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(create_step) = {
    .operation_id = "createStep",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/steps",
    .access = ACCESS_TENANT,
    .body_size_max = BODY_SIZE_MAX,
    .body_types = body_types,
    .start = start,
};
