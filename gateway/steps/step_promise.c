#include "gateway/steps/step_promise.h"

#include <assert.h>

#include "gateway/http/headers.h"
#include "gateway/jobs/job_context.h"
#include "gateway/queue/runner.h"
#include "gateway/steps/step_call.h"
#include "gateway/steps/step_enqueue.h"
#include "gateway/steps/step_forms.h"
#include "gateway/steps/step_reply.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

enum {
    KEY_GRACE_MS = 30000, /* beside the time in which a synchronous step runs; for later, it is only queued */
    COMMIT_TRIES = 3,
};

uint64_t
step_wait_read(const Request *request, const Limits *limits)
{
    Preferences preferences = preferences_parse(request_header(request, "Prefer"));
    uint64_t wait_ms = (uint64_t)preferences.wait_s * 1000;
    return wait_ms < limits->step_wait_ms ? wait_ms : limits->step_wait_ms;
}

Status
step_promise_read(StepCall *step)
{
    assert(step->exchange != NULL);

    const Request *request = exchange_request(step->exchange);
    step->promise.is_async = preferences_parse(request_header(request, "Prefer")).responds_async;
    step->promise.wait_ms = step->promise.is_async ? step_wait_read(request, step->loop->steps->limits) : 0;
    return idempotent_key_read(step->call, request, step->loop->steps->queue, &step->promise.key);
}

bool
step_promise_is_asked(const StepCall *step)
{
    return step->promise.is_async || step->promise.key.text != NULL || step->body.is_durable;
}

bool
step_promise_is_shared(const StepCall *step)
{
    return step->promise.is_async && step->promise.key.text == NULL;
}

static Status
read_body(StepCall *step, Slice json)
{
    TRY(step_call_read(step, json));
    if (step->promise.is_async && !step->body.has_timeout) {
        step->body.timeout_ms = step->loop->steps->limits->queued_timeout_default_ms;
    }
    return STATUS_OK;
}

Status
step_promise_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job)
{
    assert(step_promise_is_shared(step));

    *ret_needs_job = false;
    TRY(read_body(step, json));
    TRY(step_call_prepare(step, json, context, ret_needs_job));
    return *ret_needs_job ? STATUS_OK : step_describe(step, &step->promise.wanted);
}

static Status
enqueue_with_answer(StepCall *step, Store *store, StepNew *wanted)
{
    const Response *response = exchange_response(step->exchange);
    TRY(step_enqueue(step, store, wanted));
    step_accept(step);
    return idempotent_finish(
        step->call, store, step->tenant, &step->promise.key, response, buffer_slice(&response->buffer));
}

static Status
commit_new(StepCall *step, Store *store, StepNew *wanted, StepHold *ret_hold)
{
    const char *owner = step->loop->steps->replica->id;
    TRY(store_begin(step->call, store, step->tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(step->promise.is_async ? enqueue_with_answer(step, store, wanted)
                               : queue_begin(step->call, store, step->tenant, wanted, owner, ret_hold));
    return store_commit(step->call, TAKE(transaction));
}

static Status
prepare_and_commit(StepCall *step, Slice json, JobContext *context, Store *store)
{
    QueueRunner *queue = step->loop->steps->queue;
    bool needs_job = false;
    StepNew wanted;
    StepHold hold = {0};
    TRY(step_call_prepare(step, json, context, &needs_job));
    TRY(step->promise.is_async ? STATUS_OK : step_form_choose(step));
    TRY(step_describe(step, &wanted));
    Status status = commit_new(step, store, &wanted, &hold);
    if (status == STATUS_UNKNOWN) {
        StepRecord found = {0};
        status = step_read_back(step, store, &found);
        hold = (StepHold){.tenant = step->tenant, .id = step->id, .fence = found.fence};
    }
    TRY(status);
    step->promise.is_answered = step->promise.is_async;
    step->promise.is_queued = step->promise.is_async;
    if (step->promise.is_async) {
        queue_runner_wake(queue);
        return STATUS_OK;
    }
    step->promise.hold = hold;
    step->running.hold = hold;
    return queue_runner_hold(step->call, queue, &hold, step->loop->index);
}

/* Goes on with the run of a request that held the key before, if it was committed, and so may have begun:
 * with the same graph, though the session may have a newer one. */
static Status
follow_run(StepCall *step, Store *store)
{
    StepId first = {step->promise.key.run.id};
    StepRecord begun;
    if (step->promise.is_async || uuid_equal(first.value, step->id.value)) {
        return STATUS_OK;
    }
    Status status = steps_find(step->call, store, step->tenant, first, &begun);
    if (status == STATUS_NOT_FOUND) {
        return STATUS_OK;
    }
    TRY(status);
    char graph[ID_TEXT_SIZE];
    id_to_text("grf", begun.graph.value, graph);
    const char *copy = text_copy(step->call->arena, slice_from_string(graph));
    if (copy == NULL) {
        return call_fail_memory(step->call, "a step");
    }
    step->body.graph = slice_from_string(copy);
    step->promise.follows = true;
    return STATUS_OK;
}

void
step_promise_describe(const StepCall *step, StepRunOptions *options)
{
    const IdempotencyRun *run = &step->promise.key.run;
    if (step->promise.key.text == NULL || uuid_is_zero(run->id) || !step_is_once(step)) {
        return;
    }
    options->id.value = run->id;
    options->is_once = true;
    options->holder = run->holds;
    options->began_ns = step->promise.follows ? clock_monotonic_ns() - run->age_us * CLOCK_NS_PER_US : 0;
}

static Status
make_with_key(StepCall *step, Slice json, JobContext *context, Store *store)
{
    TRY(follow_run(step, store));
    return prepare_and_commit(step, json, context, store);
}

/* Gives the key of a step that failed back. Of a run that was broken off, or that is out of reach, its worker
 * may know an outcome: the key goes on to stand for it. */
static void
give_key_back(StepCall *step, Store *store, Status status)
{
    bool is_known = status != STATUS_UNAVAILABLE && status != STATUS_CANCELLED && status != STATUS_ABORTED;
    if (is_known || step->plan == NULL || !step_is_once(step)) {
        idempotent_abandon(step->call, store, step->tenant, &step->promise.key);
    } else {
        idempotent_loosen(step->call, store, step->tenant, &step->promise.key);
    }
}

/* Returns the request that an idempotency key stands for: a form is represented by its digest. */
static Request
request_identity(const StepCall *step)
{
    Request identity = *exchange_request(step->exchange);
    if (step->upload != NULL) {
        identity.body = slice_of(step->upload->digest.bytes, sizeof step->upload->digest.bytes);
    }
    return identity;
}

Status
step_promise_make(StepCall *step, Slice json, JobContext *context)
{
    assert(step_promise_is_asked(step) && !step_promise_is_shared(step));

    Store *store = NULL;
    IdempotentKey *key = &step->promise.key;
    Request request = request_identity(step);
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    TRY(read_body(step, json));
    if (key->text == NULL) {
        return prepare_and_commit(step, json, context, store);
    }
    key->held_ms = KEY_GRACE_MS + (step->promise.is_async ? 0 : step->body.timeout_ms);
    if (!step->promise.is_async) {
        key->run.id = step->id.value;
    }
    TRY(idempotent_begin(
        step->call, store, &request, exchange_response(step->exchange), key, &step->promise.is_answered));
    if (step->promise.is_answered) {
        return STATUS_OK;
    }
    Status status = make_with_key(step, json, context, store);
    if (status != STATUS_OK) {
        give_key_back(step, store, status);
    }
    return idempotent_judge(step->call, status);
}

/* Writes the answer without outputs when it would be too large with them; then they have gone to the
 * client. */
static void
write_answer(Buffer *buffer, const StepCall *step)
{
    uint64_t size_max = step->loop->steps->limits->idempotency_answer_bytes;
    bool has_outputs = !step->reply.has_begun && step_outputs_size(step) <= size_max;
    if (has_outputs) {
        step_write_result(buffer, step, &step->reply.report, true);
        has_outputs = buffer->size <= size_max;
    }
    if (!has_outputs) {
        buffer_clear(buffer);
        step_write_result(buffer, step, &step->reply.report, false);
    }
}

static Status
keep_answer(StepCall *step, Store *store)
{
    AUTO_BUFFER body = {0};
    write_answer(&body, step);
    return buffer_is_ok(&body) ? idempotent_finish(step->call, store, step->tenant, &step->promise.key,
                                     exchange_response(step->exchange), buffer_slice(&body))
                               : call_fail_memory(step->call, "the answer to an idempotency key");
}

static Status
commit_end(StepCall *step, Store *store, const StepOutcome *outcome)
{
    TRY(store_begin(step->call, store, step->tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(queue_end(step->call, store, &step->promise.hold, outcome));
    if (step->promise.key.text != NULL && outcome->state == STEP_SUCCEEDED) {
        TRY(keep_answer(step, store));
    }
    return store_commit(step->call, TAKE(transaction));
}

static const char *
text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/* Commits again after a commit whose reply was lost, since ending twice in the same way is one end. */
Status
step_promise_keep(StepCall *step, Store *store)
{
    assert(step->record_wait.record != NULL && step->promise.hold.fence != 0);

    const StepRecord *record = step->record_wait.record;
    Error error = step->call->error;
    StepOutcome outcome = {
        .state = record->state,
        .error_code = text_or_null(record->error_code),
        .error_message = text_or_null(record->error_message),
        .error_node = text_or_null(record->error_node),
        .stats = record->stats,
    };
    Status status = STATUS_UNKNOWN;
    for (int attempt = 0; attempt < COMMIT_TRIES && status == STATUS_UNKNOWN; attempt++) {
        status = commit_end(step, store, &outcome);
    }
    if (record->state != STEP_SUCCEEDED) {
        if (step->promise.key.text != NULL) {
            give_key_back(step, store, step->reply.report.failure.code);
        }
        step->call->error = error; /* the client hears of the step's error, not of the record's */
    }
    return status;
}
