/* createStep: runs a step and answers with its result.
 *
 * Happy path: start_create_step() prepares on the loop from the caches → step_start() dispatches → outputs
 * are kept, or sent as they come, large ones in pieces (step_reply.h) → end_step() puts the record into its
 * ring (step_record.h) → the rest of the reply is written. On a cache miss, or with a large body, preparing
 * goes to a job thread first; so does a step that must be committed before it runs (step_promise.h).
 *
 * A form whose large feeds go to the workers as they come begins its step before it has ended
 * (step_passing.h).
 *
 * Failures: a stage that fails ends the exchange with its Status; a client that hangs up cancels the step
 * on every worker. */
#include <assert.h>

#include "gateway/handlers/step_form.h"
#include "gateway/http/exchange.h"
#include "gateway/replicas/step_lookup.h"
#include "gateway/steps/step_call.h"
#include "gateway/steps/step_enqueue.h"
#include "gateway/steps/step_forms.h"
#include "gateway/steps/step_json.h"
#include "gateway/steps/step_passing.h"
#include "gateway/steps/step_promise.h"
#include "gateway/steps/step_record.h"
#include "gateway/steps/step_reply.h"
#include "shared/base/clock.h"

enum { LOOP_BODY_SIZE_MAX = 256 * 1024, BODY_SIZE_MAX = 64 << 20 };

static void
hand_output(void *context, uint32_t fetch, const Tensor *tensor)
{
    step_reply_output(context, fetch, tensor);
}

static OutputWay
receive_head(void *context, const OutputHead *head)
{
    return step_reply_head(context, head);
}

static void
hand_piece(void *context, uint32_t fetch, Slice bytes, bool is_last)
{
    step_reply_piece(context, fetch, bytes, is_last);
}

static void
want_feeds(void *context)
{
    step_passing_go_on(context);
}

static void
end_step(void *context, const StepReport *report)
{
    StepCall *step = context;
    step->running.run = NULL;
    list_remove(&step->running.link);
    if (!step_passing_end(step, report)) {
        step_record_end(step, report);
    }
}

static void
end_early(Exchange *exchange, void *owner)
{
    StepCall *step = owner;
    if (step->running.run == NULL) {
        return;
    }
    if (exchange_is_dismissed(exchange)) {
        Failure failure = failure_of(STATUS_UNAVAILABLE, (Slice){0}, "the gateway is shutting down");
        step_fail(step->running.run, &failure);
    } else {
        step_cancel(step->running.run, "the client went away");
    }
}

/* Begins the run; step->running.run stays NULL without memory. */
static void
begin_run(StepCall *step, uint64_t deadline_ns)
{
    assert(step->plan != NULL && step->reply.form != NULL);

    static const StepEvents events = {.on_feed_room = want_feeds,
        .on_output = hand_output,
        .on_head = receive_head,
        .on_piece = hand_piece,
        .on_done = end_step};
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    StepRunOptions options;
    step_call_describe(step, tenant, session, &options);
    options.deadline_ns = deadline_ns;
    options.holds_outputs = step->reply.form->awaits_end;
    options.awaits_feeds = step->comes;
    step_promise_describe(step, &options);
    step->running = (RunningStep){
        .hold = {.tenant = step->tenant, .id = step->id, .fence = step->promise.hold.fence},
        .session = step->session_id,
        .graph = step->graph->id,
        .started_us = step->received_us,
        .run = step_start(step->loop->dispatcher, &options, &events, step),
    };
    if (step->running.run == NULL) {
        queue_runner_forget(step->loop->steps->queue, &step->running.hold);
    } else {
        running_steps_add(&step->loop->running, &step->running);
    }
}

/* Ties the request to the run: its deadline, and the client that may hang up. The request gets a little
 * longer than the step, so that a step that passes its deadline can still report it. */
static void
attach_request(StepCall *step, uint64_t deadline_ns)
{
    enum { REPLY_GRACE_MS = 1000 };
    char path[STEP_PATH_SIZE];
    step_path(step->session_id, step->id, path);
    response_header(exchange_response(step->exchange), "Location", path);
    exchange_deadline(step->exchange, deadline_ns + REPLY_GRACE_MS * CLOCK_NS_PER_MS);
    exchange_on_cancel(step->exchange, end_early, step);
}

static void
run_step(StepCall *step)
{
    uint64_t deadline_ns = clock_monotonic_ns() + step->body.timeout_ms * CLOCK_NS_PER_MS;
    begin_run(step, deadline_ns);
    if (step->running.run == NULL) {
        exchange_fail(step->exchange, call_fail_memory(step->call, "a step"));
        return;
    }
    attach_request(step, deadline_ns);
}

/* Goes on with a step that was begun while its form came. */
static void
finish_passing(StepUpload *upload, StepCall *step)
{
    uint64_t deadline_ns = clock_monotonic_ns() + step->body.timeout_ms * CLOCK_NS_PER_MS;
    Status status = step_passing_finish(upload);
    if (status != STATUS_OK) {
        exchange_fail(step->exchange, status);
    } else {
        attach_request(step, deadline_ns);
    }
}

static void
dispatch_step(StepCall *step)
{
    Status status = step->reply.form == NULL ? step_form_choose(step) : STATUS_OK;
    if (status != STATUS_OK) {
        exchange_fail(step->exchange, status);
    } else {
        run_step(step);
    }
}

static Status
prepare_on_job(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    StepCall *step = owner;
    bool needs_job = false;
    Slice json = step_call_json(step);
    if (step_promise_is_shared(step)) {
        return step_promise_prepare(step, json, job_context, &needs_job);
    }
    TRY(step_call_read(step, json));
    return step_promise_is_asked(step) ? step_promise_make(step, json, job_context)
                                       : step_call_prepare(step, json, job_context, &needs_job);
}

/* Goes on after the commit: the step is in the queue, or its key has an answer already, or it may run now. */
static void
go_on_promised(StepCall *step, Status status)
{
    Exchange *exchange = step->exchange;
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (step->promise.wait_ms > 0 && step->promise.is_queued) {
        const Parts *parts = exchange_request(exchange)->parts;
        step_await(exchange, parts->mail, parts->steps, step->session_id, step->id, step->promise.wait_ms);
    } else if (step->promise.is_answered) {
        exchange_finish(exchange);
    } else {
        dispatch_step(step);
    }
}

static void
enqueue_step(StepCall *step)
{
    if (!step_enqueue_together(step, go_on_promised)) {
        exchange_fail(step->exchange, exchange_note_overload(step->exchange));
    }
}

static void
prepared_on_job(Exchange *exchange, Status status, void *owner)
{
    StepCall *step = owner;
    (void)exchange;
    if (status == STATUS_OK && step_promise_is_shared(step)) {
        enqueue_step(step);
    } else {
        go_on_promised(step, status);
    }
}

static Status
prepare_step(StepCall *step, bool *ret_needs_job)
{
    const Request *request = exchange_request(step->exchange);
    Slice session = request_parameter(request, "session");
    if (!id_from_text("ses", session, &step->session_id.value)) {
        return call_fail(step->call, STATUS_NOT_FOUND, "session '%.*s' does not exist",
            SLICE_PRINT(slice_part(session, 0, 64)));
    }
    if (step->upload != NULL) {
        TRY(step_upload_end(step->call, step->upload));
    }
    TRY(step_promise_read(step));
    Slice json = step_call_json(step);
    bool is_shared = step_promise_is_shared(step);
    if (json.size > LOOP_BODY_SIZE_MAX || (step_promise_is_asked(step) && !is_shared)) {
        *ret_needs_job = true;
        return STATUS_OK;
    }
    if (is_shared) {
        return step_promise_prepare(step, json, NULL, ret_needs_job);
    }
    TRY(step_call_prepare(step, json, NULL, ret_needs_job));
    *ret_needs_job = *ret_needs_job || step_promise_is_asked(step);
    return STATUS_OK;
}

/* Prepares on a job thread: a graph may have to be read, or a plan to be made. */
static void
prepare_elsewhere(StepCall *step)
{
    if (!step_promise_is_asked(step)) {
        exchange_expect_long(step->exchange);
    }
    if (!exchange_offload(step->exchange, prepare_on_job, prepared_on_job, step)) {
        exchange_fail(step->exchange, exchange_note_overload(step->exchange));
    }
}

static void
start_create_step(Exchange *exchange)
{
    Call *call = exchange_call(exchange);
    const Request *request = exchange_request(exchange);
    StepUpload *upload = request->sink_state;
    StepCall *begun = upload == NULL ? NULL : step_passing_step(upload);
    if (begun != NULL) {
        finish_passing(upload, begun);
        return;
    }
    StepCall *step = step_call_new(exchange, request->parts->steps);
    bool needs_job = false;
    if (step == NULL) {
        exchange_fail(exchange, call_fail_memory(call, "a step"));
        return;
    }
    Status status = prepare_step(step, &needs_job);
    if (status != STATUS_OK) {
        exchange_fail(exchange, status);
    } else if (needs_job) {
        prepare_elsewhere(step);
    } else if (step_promise_is_shared(step)) {
        enqueue_step(step);
    } else {
        dispatch_step(step);
    }
}

static Status
begin_form(Exchange *exchange, void **ret_form)
{
    void *form = NULL;
    TRY(step_form_begin(exchange, &form));
    step_passing_attach(exchange, exchange_request(exchange)->parts->steps, form, begin_run);
    *ret_form = form;
    return STATUS_OK;
}

static const BodySink *
choose_sink(const Request *request)
{
    static const BodySink form = {
        .size_max = STEP_UPLOAD_SIZE_MAX,
        .begin = begin_form,
        .write = step_passing_write,
        .must_wait = step_passing_must_wait,
        .kept_size = step_upload_kept_size,
        .is_awaited = step_passing_is_awaited,
        .broken = step_passing_broken,
    };
    const BodySink *collected = step_form_sink(request);
    return collected != NULL && step_passing_is_allowed(request) ? &form : collected;
}

HANDLER(create_step) = {
    .operation_id = "createStep",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/steps",
    .access = ACCESS_TENANT,
    .body_size_max = BODY_SIZE_MAX,
    .body_types = step_form_types,
    .start = start_create_step,
    .sink = choose_sink,
};
