#include "gateway/resources/idempotent.h"

#include <assert.h>

#include "gateway/http/headers.h"
#include "gateway/resources/resource.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

enum {
    RUN_HELD_MS = 60000,
    ABANDON_MS = 1000,        /* the time to give a key back in at once */
    PREPARE_HELD_MS = 600000, /* work that is still prepared then may be done twice, and is kept once */
};

Status
idempotent_key_read(Call *call, const Request *request, QueueRunner *queue, IdempotentKey *ret_key)
{
    Slice text;
    TRY(idempotency_key_parse(call, request_header(request, "Idempotency-Key"), &text));
    const char *copy = text.data == NULL ? NULL : text_copy(call->arena, text);
    if (text.data != NULL && copy == NULL) {
        return call_fail_memory(call, "the idempotency key");
    }
    *ret_key = (IdempotentKey){.text = copy, .queue = queue};
    return STATUS_OK;
}

/* Adds the length too, which keeps neighbouring parts apart. */
static void
update_part(Sha256State *state, Slice part)
{
    uint64_t size = part.size;
    sha256_update(state, slice_of(&size, sizeof size));
    sha256_update(state, part);
}

static Status
digest_request(Call *call, const Request *request, Sha256 *ret_digest)
{
    Sha256State *state = sha256_begin();
    if (state == NULL) {
        return call_fail_memory(call, "the digest of a request");
    }
    update_part(state, slice_from_string(request->method));
    update_part(state, request->target);
    update_part(state, request->media_type);
    update_part(state, request->body);
    sha256_end(state, ret_digest);
    return STATUS_OK;
}

static void
replay_answer(Response *response, const IdempotencyAnswer *answer)
{
    response_status(response, (int)answer->http_status);
    response_header(response, "Idempotent-Replayed", "true");
    if (answer->location[0] != '\0') {
        response_header(response, "Location", answer->location);
    }
    if (answer->content_type[0] != '\0') {
        buffer_append_slice(response_body(response, answer->content_type), answer->body);
    }
}

Status
idempotent_begin(Call *call, Store *store, const Request *request, Response *response, IdempotentKey *key,
    bool *ret_is_replayed)
{
    assert(key->text != NULL);

    IdempotencyRequest wanted = {.key = key->text, .held_ms = key->held_ms, .run = key->run.id};
    Idempotency found;
    if (request->sink_state != NULL && request->body.size == 0) {
        /* Two bodies that were read in pieces cannot be compared afterwards: a sink must hand in a digest
         * as the body. */
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "an Idempotency-Key needs a body of application/json, not of %.*s",
            SLICE_PRINT(request->media_type));
    }
    TRY(digest_request(call, request, &wanted.digest));
    TRY(idempotency_begin(call, store, request->principal.tenant, &wanted, &found));
    switch (found.outcome) {
    case IDEMPOTENCY_FRESH:
        key->owner = found.owner;
        key->run = found.run;
        *ret_is_replayed = false;
        return STATUS_OK;
    case IDEMPOTENCY_REPLAY:
        replay_answer(response, &found.answer);
        *ret_is_replayed = true;
        return STATUS_OK;
    case IDEMPOTENCY_RUNNING:
        response_header(response, "Retry-After", "1");
        return call_fail(call, STATUS_ABORTED,
            "the first request with the idempotency key '%s' has not been answered yet", key->text);
    case IDEMPOTENCY_MISMATCH:
        break;
    }
    return response_fail(
        call, response, 422, "the idempotency key '%s' came with another request before", key->text);
}

Status
idempotent_finish(
    Call *call, Store *store, TenantId tenant, const IdempotentKey *key, const Response *response, Slice body)
{
    assert(key->text != NULL);

    const char *location = response_header_get(response, "Location");
    const char *type = response_header_get(response, "Content-Type");
    IdempotencyAnswer answer = {
        .http_status = response->status == 0 ? 200 : response->status,
        .location = location == NULL ? "" : location,
        .content_type = type == NULL ? "application/json" : type,
        .body = body,
    };
    return idempotency_finish(call, store, tenant, key->text, key->owner, &answer);
}

void
idempotent_abandon(Call *call, Store *store, TenantId tenant, const IdempotentKey *key)
{
    assert(key->text != NULL);

    Call cleanup = {.arena = call->arena, .deadline_ns = clock_monotonic_ns() + ABANDON_MS * CLOCK_NS_PER_MS};
    Status status = idempotency_abandon(&cleanup, store, tenant, key->text, key->owner);
    if (status != STATUS_OK && key->queue != NULL) {
        queue_runner_return_key(key->queue, tenant, key->text, key->owner);
    }
}

void
idempotent_loosen(Call *call, Store *store, TenantId tenant, const IdempotentKey *key)
{
    assert(key->text != NULL);

    Call cleanup = {.arena = call->arena, .deadline_ns = clock_monotonic_ns() + ABANDON_MS * CLOCK_NS_PER_MS};
    /* A key that is not let go of, as PostgreSQL is out of reach, is free when its time is over. */
    (void)!idempotency_loosen(&cleanup, store, tenant, key->text, key->owner);
}

Status
idempotent_judge(Call *call, Status status)
{
    return status == STATUS_UNKNOWN
               ? call_fail(call, STATUS_UNAVAILABLE,
                     "PostgreSQL was lost during a commit, which may have happened: send the request again "
                     "with its idempotency key")
               : status;
}

static Status
run_in_transaction(Call *call, const Request *request, Response *response, const IdempotentKey *key,
    const IdempotentWork *work)
{
    Store *store = NULL;
    TenantId tenant = request->principal.tenant;
    TRY(request_store(call, request, &store));
    TRY(store_begin(call, store, tenant));
    AUTO_TRANSACTION transaction = store;
    TRY(work->commit(call, request, response, work->context));
    TRY(idempotent_finish(call, store, tenant, key, response, buffer_slice(&response->buffer)));
    return store_commit(call, TAKE(transaction));
}

static Status
prepare_work(Call *call, const Request *request, Response *response, const IdempotentWork *work)
{
    return work->prepare == NULL ? STATUS_OK : work->prepare(call, request, response, work->context);
}

Status
idempotent_run(Call *call, const Request *request, Response *response, const IdempotentWork *work)
{
    Store *store = NULL;
    IdempotentKey key;
    bool is_replayed = false;
    TRY(idempotent_key_read(call, request, work->queue, &key));
    if (key.text == NULL) {
        TRY(prepare_work(call, request, response, work));
        return work->commit(call, request, response, work->context);
    }
    key.held_ms = work->prepare == NULL ? RUN_HELD_MS : PREPARE_HELD_MS;
    TRY(request_store(call, request, &store));
    TRY(idempotent_begin(call, store, request, response, &key, &is_replayed));
    if (is_replayed) {
        return STATUS_OK;
    }
    Status status = prepare_work(call, request, response, work);
    if (status == STATUS_OK) {
        status = run_in_transaction(call, request, response, &key, work);
    }
    if (status != STATUS_OK) {
        idempotent_abandon(call, store, request->principal.tenant, &key);
    }
    return idempotent_judge(call, status);
}
