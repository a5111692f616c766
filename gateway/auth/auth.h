/* What credentials are worth: API keys, checked against the database once and remembered for a few seconds,
 * so that a revoked key is refused everywhere within AUTH_FRESH_MS. While the database is gone, a key that
 * was good serves for AUTH_STALE_MS.
 *
 * A tenant's requests are counted here too: above its quota requests_per_second, which each gateway counts
 * for itself, they are answered with 429.
 *
 * With --auth=off, which is only possible on loopback, everybody is the tenant `default` and an operator.
 *
 * Threads: any; one lock, held for the look-up alone; none for counting. */
#pragma once

#include "gateway/http/server.h"

enum { AUTH_FRESH_MS = 5000, AUTH_STALE_MS = 30000, AUTH_CACHE_MAX = 65536 };

typedef struct AuthCache AuthCache;

MUST_USE AuthCache *auth_cache_new(Slice pepper);
void auth_cache_free(AuthCache *cache); /* NULL is allowed */

/* The hooks of HttpOptions; `services` is a GatewayLoop. */
AuthorizeAnswer auth_look_up(
    void *services, const Request *request, const Credentials *credentials, Principal *ret_principal);
MUST_USE Status auth_verify(Call *call, void *job_context, const Request *request,
    const Credentials *credentials, Principal *ret_principal);
MUST_USE Status auth_charge(Call *call, const Request *request, Response *response);
