/* The senders of requests. API keys are checked against the database once and remembered for a few seconds. A
 * revoked key is refused everywhere as soon as PostgreSQL has told the gateways of it (auth_forget()); were
 * that message lost, within AUTH_FRESH_MS. While the database is gone, a key that was valid when it was last
 * looked up serves for AUTH_STALE_MS. A key that is worth nothing is not remembered: it may be made the next
 * moment.
 *
 * A tenant's requests are counted here too: above its quota requests_per_second, which each gateway counts
 * for itself, they are answered with 429.
 *
 * With --auth=off, which is only possible on loopback, everybody is the tenant `default` and an operator.
 *
 * Ownership: principals point to their tenant's rate, which lives as long as the Auth.
 * Threads:   any; one lock, held for the look-up alone; none for counting.
 * Errors:    UNAUTHENTICATED for credentials that are worth nothing; those of the store. */
#pragma once

#include "gateway/http/server.h"
#include "gateway/jobs/job_context.h"

enum { AUTH_FRESH_MS = 5000, AUTH_STALE_MS = 30000, AUTH_KEYS_MAX = 65536 };

typedef struct Auth Auth;

typedef struct AuthOptions {
    Slice pepper;             /* of the keys' hashes; outlives the Auth */
    bool is_open;             /* --auth=off */
    const char *worker_token; /* that workers show; NULL: none may join, unless is_open */
} AuthOptions;

/* NULL without memory. */
MUST_USE Auth *auth_new(const AuthOptions *options);
void auth_free(Auth *auth); /* NULL is allowed */

/* Says what is remembered of the credentials. */
AuthorizeAnswer auth_look_up(Auth *auth, const Credentials *credentials, Principal *ret_principal);

/* Says whether the credentials are the workers' token. No API key will do. */
AuthorizeAnswer auth_admit_worker(const Auth *auth, const Credentials *credentials);

/* Asks the database about the credentials of all items with one statement, and remembers the answers. */
void auth_verify(Auth *auth, JobContext *context, AuthorizeItem *items, size_t count);

/* Forgets a key: the next request that brings it asks the database. */
void auth_forget(Auth *auth, Slice key_id);

/* Asks the database again about every key that is remembered: messages may have been lost. */
void auth_doubt(Auth *auth);

/* Counts a request of this principal. RESOURCE_EXHAUSTED, with the headers that say when to come again, above
 * its tenant's rate. */
MUST_USE Status auth_charge(Call *call, const Principal *principal, Response *response);
