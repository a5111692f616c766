/* Idempotency keys of requests that may be sent again: a key is kept for 24 hours with the digest of its
 * request and, once there is one, the first answer.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store. */
#pragma once

#include "gateway/store/connection.h"

enum { IDEMPOTENCY_KEY_SIZE = 256 }; /* with its NUL */

typedef enum IdempotencyOutcome {
    IDEMPOTENCY_FRESH,    /* run the request, then finish or abandon */
    IDEMPOTENCY_REPLAY,   /* send `answer` again */
    IDEMPOTENCY_RUNNING,  /* the first request has not been answered yet */
    IDEMPOTENCY_MISMATCH, /* the key came with another request before */
} IdempotencyOutcome;

typedef struct IdempotencyAnswer {
    int64_t http_status;
    const char *location;     /* "" for none */
    const char *content_type; /* "" for none */
    Slice body;
} IdempotencyAnswer;

/* The run that a key stands for, whoever holds it. */
typedef struct IdempotencyRun {
    Uuid id;         /* under which workers know it; zero: the key stands for none */
    int64_t holds;   /* how many requests have held the key, this one included */
    uint64_t age_us; /* since the first of them took it, by the database's clock */
} IdempotencyRun;

typedef struct IdempotencyRequest {
    const char *key;
    Sha256 digest; /* of the request: method, path and body */
    uint64_t held_ms;
    Uuid run; /* for which a new key is to stand; zero: none */
} IdempotencyRequest;

typedef struct Idempotency {
    IdempotencyOutcome outcome;
    Uuid owner;         /* FRESH: the holder, which idempotency_finish() asks for */
    IdempotencyRun run; /* FRESH: of the first holder */
    IdempotencyAnswer answer;
} Idempotency;

/* Takes the key, in the caller's transaction or at once. In a transaction, a second request with the same
 * key waits until the first has committed. A key that has no answer may be taken by the same
 * request again when its gateway (StoreOptions.gateway) is gone, which shows within POOL_LEASE_MS, or when
 * held_ms are over. */
MUST_USE Status idempotency_begin(Call *call, Store *store, TenantId tenant,
    const IdempotencyRequest *request, Idempotency *ret_idempotency);

/* Keeps the answer. ABORTED when the key was taken over meanwhile. */
MUST_USE Status idempotency_finish(
    Call *call, Store *store, TenantId tenant, const char *key, Uuid owner, const IdempotencyAnswer *answer);

/* Frees the key of a request that failed in a way that is worth another try. */
MUST_USE Status idempotency_abandon(Call *call, Store *store, TenantId tenant, const char *key, Uuid owner);

/* Lets go of the key of a request of which it is not known whether it has changed anything: it goes on to
 * stand for its run, and the same request may take it. */
MUST_USE Status idempotency_loosen(Call *call, Store *store, TenantId tenant, const char *key, Uuid owner);

/* Frees a key of which it is not known whether a commit, under way at another connection, still keeps an
 * answer to it: then nothing happens and *ret_is_settled is false. For the role QUEUE. */
MUST_USE Status idempotency_return(
    Call *call, Store *store, TenantId tenant, const char *key, Uuid owner, bool *ret_is_settled);

/* Forgets up to `count_max` keys that are older than 24 hours. */
MUST_USE Status idempotency_expire(
    Call *call, Store *store, TenantId tenant, size_t count_max, uint64_t *ret_removed);
