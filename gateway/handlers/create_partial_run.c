/* createPartialRun: sets up a step whose feeds come in several requests (partial_run.h).
 *
 * Happy path: the run is prepared on the loop from the caches, or on a job thread → it begins on this loop
 * → it is admitted to the pool → 201. An Idempotency-Key is taken before that on a job thread, and the answer
 * is kept under it afterwards on another. */
#include <assert.h>

#include "gateway/handlers/parts.h"
#include "gateway/http/exchange.h"
#include "gateway/jobs/job_context.h"
#include "gateway/partials/partial_view.h"
#include "gateway/resources/idempotent.h"
#include "gateway/resources/resource.h"
#include "shared/base/clock.h"

enum { KEY_HELD_MS = 60000, REPLY_GRACE_MS = 1000 };

typedef struct Creation {
    Exchange *exchange;
    PartialWaiter waiter; /* for the run's admission */
    PartialRun *run;      /* NULL once it has begun */
    PartialKey key;
    IdempotentKey idempotency;
    bool is_replayed;
    Status begun;
} Creation;

static const char untold_message[] = "nobody could be told of the partial run";

/* Ends a run that has begun but whose id no client will hear: nobody could ever use it. */
static void
end_untold(const Creation *creation, Status status)
{
    const Parts *parts = exchange_request(creation->exchange)->parts;
    PartialRun *run = partial_run_find(parts->partials->table, &creation->key);
    if (run != NULL) {
        partial_run_fail(run, status, untold_message);
        run->is_told = true;
        partial_run_settle(run);
    }
}

static void
fail_creation(Creation *creation, Status status)
{
    if (creation->run != NULL) {
        partial_run_free(TAKE(creation->run));
    } else {
        end_untold(creation, status);
    }
    exchange_fail(creation->exchange, status);
}

/* Writes the answer about a run that has been admitted, or fails as the run has. */
static Status
write_answer(const Creation *creation, const PartialRun *run)
{
    Call *call = exchange_call(creation->exchange);
    Response *response = exchange_response(creation->exchange);
    PartialView view;
    char path[PARTIAL_RUN_PATH_SIZE];
    if (run->has_ended && run->status != STATUS_OK) {
        return call_fail(call, run->status, "%s", run->message);
    }
    TRY(partial_run_view(call, run, &view));
    partial_run_path(&creation->key, path);
    response_status(response, 201);
    response_header(response, "Location", path);
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    partial_view_write(&writer, &view);
    json_write_object_end(&writer);
    return STATUS_OK;
}

static Status
keep_answer(const Creation *creation, Call *call, Store *store)
{
    TenantId tenant = creation->key.tenant;
    const Response *response = exchange_response(creation->exchange);
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(idempotent_finish(
        call, store, tenant, &creation->idempotency, response, buffer_slice(&response->buffer)));
    return store_commit(call, TAKE(transaction));
}

static Status
settle_key_on_job(Call *call, JobContext *job_context, void *owner)
{
    const Creation *creation = owner;
    Store *store = NULL;
    TRY(job_store(call, job_context, STORE_ROLE_APP, &store));
    Status status = creation->begun == STATUS_OK ? keep_answer(creation, call, store) : creation->begun;
    if (status != STATUS_OK) {
        idempotent_abandon(call, store, creation->key.tenant, &creation->idempotency);
    }
    return idempotent_judge(call, status);
}

static void
key_is_settled(Exchange *exchange, Status status, void *owner)
{
    if (status == STATUS_OK) {
        exchange_finish(exchange);
    } else {
        fail_creation(owner, status);
    }
}

/* Answers, or settles the key first. Otherwise returns the status with which the creation fails. */
static Status
answer_creation(Creation *creation)
{
    Exchange *exchange = creation->exchange;
    if (creation->idempotency.text != NULL) {
        return exchange_offload(exchange, settle_key_on_job, key_is_settled, creation)
                   ? STATUS_OK
                   : exchange_note_overload(exchange);
    }
    if (creation->begun == STATUS_OK) {
        exchange_finish(exchange);
    }
    return creation->begun;
}

static bool
run_is_ready(PartialWaiter *waiter, const PartialRun *run)
{
    (void)waiter;
    return run->is_admitted || run->has_ended;
}

/* Goes on when the run has been admitted, or has ended before that; the run settles when this has returned.
 */
static void
run_has_begun(PartialWaiter *waiter, PartialRun *run)
{
    Creation *creation = LIST_ITEM(waiter, Creation, waiter);
    exchange_on_cancel(creation->exchange, NULL, NULL);
    creation->begun = write_answer(creation, run);
    Status status = answer_creation(creation);
    if (creation->begun != STATUS_OK || status != STATUS_OK) {
        partial_run_fail(run, creation->begun != STATUS_OK ? creation->begun : status, untold_message);
        run->is_told = true;
    }
    if (status != STATUS_OK) {
        exchange_fail(creation->exchange, status);
    }
}

static void
client_gone(Exchange *exchange, void *owner)
{
    const Creation *creation = owner;
    PartialRun *run = partial_run_find(exchange_request(exchange)->parts->partials->table, &creation->key);
    if (run != NULL) {
        partial_run_cancel(run);
    }
}

static Status
begin_run(Creation *creation)
{
    assert(creation->run != NULL);

    Call *call = exchange_call(creation->exchange);
    TRY(call_check(call, clock_monotonic_ns()));
    creation->waiter = (PartialWaiter){.is_ready = run_is_ready, .serve = run_has_begun};
    list_init(&creation->waiter.link);
    TRY(partial_run_begin(call, creation->run, &creation->waiter));
    const PartialRun *run = TAKE(creation->run);
    exchange_deadline(creation->exchange, run->facts.expires_ns + REPLY_GRACE_MS * CLOCK_NS_PER_MS);
    exchange_on_cancel(creation->exchange, client_gone, creation);
    return STATUS_OK;
}

static void
finish_creation(Creation *creation)
{
    creation->begun = begin_run(creation);
    Status status = creation->begun == STATUS_OK ? STATUS_OK : answer_creation(creation);
    if (status != STATUS_OK) {
        fail_creation(creation, status);
    }
}

/* Copies the error with its details: their texts live in the run's arena, which is freed before the reply
 * is written. */
static void
copy_error(const Error *error, Call *call)
{
    call->error = *error;
    call->error.detail_count = 0;
    for (int index = 0; index < error->detail_count; index++) {
        call_note(call, error->details[index].pointer, "%s", error->details[index].detail);
    }
}

static Status
prepare_run(const Creation *creation, JobContext *context, bool *ret_needs_job)
{
    Status status = partial_run_prepare(creation->run, context, ret_needs_job);
    if (status != STATUS_OK) {
        copy_error(&creation->run->call.error, exchange_call(creation->exchange));
    }
    return status;
}

static Status
prepare_with_key(Creation *creation, Call *call, JobContext *context)
{
    Store *store = NULL;
    bool needs_job = false;
    creation->idempotency.held_ms = KEY_HELD_MS;
    TRY(job_store(call, context, STORE_ROLE_APP, &store));
    TRY(idempotent_begin(call, store, exchange_request(creation->exchange),
        exchange_response(creation->exchange), &creation->idempotency, &creation->is_replayed));
    if (creation->is_replayed) {
        return STATUS_OK;
    }
    Status status = prepare_run(creation, context, &needs_job);
    if (status != STATUS_OK) {
        idempotent_abandon(call, store, creation->key.tenant, &creation->idempotency);
    }
    return status;
}

static Status
prepare_on_job(Call *call, JobContext *job_context, void *owner)
{
    Creation *creation = owner;
    bool needs_job = false;
    return creation->idempotency.text != NULL ? prepare_with_key(creation, call, job_context)
                                              : prepare_run(creation, job_context, &needs_job);
}

static void
prepared_on_job(Exchange *exchange, Status status, void *owner)
{
    Creation *creation = owner;
    if (status != STATUS_OK) {
        fail_creation(creation, status);
    } else if (creation->is_replayed) {
        partial_run_free(TAKE(creation->run));
        exchange_finish(exchange);
    } else {
        finish_creation(creation);
    }
}

static Status
make_run(Creation *creation, bool *ret_needs_job)
{
    const Request *request = exchange_request(creation->exchange);
    Call *call = exchange_call(creation->exchange);
    PartialLoop *loop = request->parts->partials;
    creation->key.tenant = request->principal.tenant;
    creation->key.id = partial_run_id_new(loop);
    TRY(session_id_read(call, request, &creation->key.session));
    TRY(idempotent_key_read(call, request, request->parts->queue, &creation->idempotency));
    creation->run = partial_run_new(loop, &creation->key, call, request->body);
    if (creation->run == NULL) {
        return call_fail_memory(call, "a partial run");
    }
    *ret_needs_job = creation->idempotency.text != NULL;
    return *ret_needs_job ? STATUS_OK : prepare_run(creation, NULL, ret_needs_job);
}

/* Prepares on a job thread: a graph may have to be read, or a plan to be made. */
static void
prepare_elsewhere(Creation *creation)
{
    exchange_expect_long(creation->exchange);
    if (!exchange_offload(creation->exchange, prepare_on_job, prepared_on_job, creation)) {
        fail_creation(creation, exchange_note_overload(creation->exchange));
    }
}

static void
start_create_partial_run(Exchange *exchange)
{
    Call *call = exchange_call(exchange);
    bool needs_job = false;
    Creation *creation = arena_alloc(call->arena, sizeof *creation);
    if (creation == NULL) {
        exchange_fail(exchange, call_fail_memory(call, "a partial run"));
        return;
    }
    creation->exchange = exchange;
    Status status = make_run(creation, &needs_job);
    if (status != STATUS_OK) {
        fail_creation(creation, status);
    } else if (!needs_job) {
        finish_creation(creation);
    } else {
        prepare_elsewhere(creation);
    }
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(create_partial_run) = {
    .operation_id = "createPartialRun",
    .method = "POST",
    .path = "/api/v1/sessions/{session}/partial-runs",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)1 << 20,
    .body_types = body_types,
    .start = start_create_partial_run,
};
