/* Idempotency-Key: the first answer to a key is kept for a day and given again to the same request.
 *
 * Happy path: the key is taken and committed → the work is prepared, and runs → its answer is kept in the
 * transaction that makes the work's result durable. Work that fails gives the key back, so that the client
 * can try again.
 *
 * Errors: ABORTED (409) while the first request runs; 422 when the key came with another request before;
 * INVALID_ARGUMENT for a body that went into a sink. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/queue/runner.h"
#include "gateway/store/idempotency.h"

typedef struct IdempotentKey {
    const char *text;   /* NULL: the request has none */
    QueueRunner *queue; /* gives the key back when PostgreSQL is out of reach; NULL: nobody does */
    Uuid owner;
    uint64_t held_ms;   /* after which the holder loses the key though its gateway lives */
    IdempotencyRun run; /* for which the key is to stand, and then that of its first holder */
} IdempotentKey;

/* Reads the key from the request's header. */
MUST_USE Status idempotent_key_read(
    Call *call, const Request *request, QueueRunner *queue, IdempotentKey *ret_key);

/* Takes the key. *ret_is_replayed says that it had an answer already, which is now in the response. */
MUST_USE Status idempotent_begin(Call *call, Store *store, const Request *request, Response *response,
    IdempotentKey *key, bool *ret_is_replayed);

/* Keeps the response, with this body, as the answer to the key, in the caller's transaction. */
MUST_USE Status idempotent_finish(Call *call, Store *store, TenantId tenant, const IdempotentKey *key,
    const Response *response, Slice body);

/* Gives the key back after a failure, perhaps later; the call's error is not changed. A key whose answer was
 * committed after all keeps it. */
void idempotent_abandon(Call *call, Store *store, TenantId tenant, const IdempotentKey *key);

/* Lets go of the key of a request of which it is not known whether it has changed anything; the call's error
 * is not changed. */
void idempotent_loosen(Call *call, Store *store, TenantId tenant, const IdempotentKey *key);

/* Returns the status with which a request with a key fails: one whose commit may have happened is
 * UNAVAILABLE, since it is safe to send it again. */
MUST_USE Status idempotent_judge(Call *call, Status status);

typedef Status (*IdempotentStep)(Call *call, const Request *request, Response *response, void *context);

/* The work of a request: what may take long and changes nothing, and what is short and may change things. */
typedef struct IdempotentWork {
    IdempotentStep prepare; /* outside of any transaction; NULL: there is nothing to prepare */
    IdempotentStep commit;  /* in a transaction when there is a key */
    QueueRunner *queue;     /* IdempotentKey.queue */
    void *context;          /* of both */
} IdempotentWork;

/* Does all of the above for a `run` handler. */
MUST_USE Status idempotent_run(
    Call *call, const Request *request, Response *response, const IdempotentWork *work);
