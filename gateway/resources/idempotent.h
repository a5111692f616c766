/* Idempotency-Key: the first answer to a key is kept for a day and given again to the same request.
 *
 * Happy path: the key is taken and committed → the work runs → its answer is kept in the transaction that
 * makes the work's result durable. Work that fails gives the key back, so that it can be tried again.
 *
 * Errors: ABORTED (409) while the first request runs; 422 when the key came with another request before;
 *         INVALID_ARGUMENT for a body that went into a sink. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/store/idempotency.h"

typedef struct IdempotentKey {
    const char *text; /* NULL: the request has none */
    Uuid owner;
    uint64_t held_ms; /* a holder that crashed has lost the key after that */
} IdempotentKey;

/* The key of the request's header. */
MUST_USE Status idempotent_key_read(Call *call, const Request *request, IdempotentKey *ret_key);

/* Takes the key; *ret_is_replayed says that the first answer has been written to the response
 * instead. */
MUST_USE Status idempotent_begin(Call *call, Store *store, const Request *request, Response *response,
    IdempotentKey *key, bool *ret_is_replayed);

/* Keeps the response, with this body, as the answer, in the caller's transaction. */
MUST_USE Status idempotent_finish(Call *call, Store *store, TenantId tenant, const IdempotentKey *key,
    const Response *response, Slice body);

/* Gives the key back; the call's error stays. */
void idempotent_abandon(Call *call, Store *store, TenantId tenant, const IdempotentKey *key);

/* All of it for a `run` handler: `work` is called in a transaction when there is a key, and without one
 * otherwise. */
typedef Status (*IdempotentWork)(Call *call, const Request *request, Response *response);
MUST_USE Status idempotent_run(Call *call, const Request *request, Response *response, IdempotentWork work);
