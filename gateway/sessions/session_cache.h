/* Sessions as this process knows them: immutable snapshots, so that a step in a session that was used a
 * moment ago asks the database for nothing.
 *
 * A snapshot is fresh for SESSION_FRESH_MS, within which another replica's change is not seen. While the
 * database is gone, it serves for SESSION_STALE_MS.
 *
 * Ownership: snapshots are refcounted; the cache holds one reference each.
 * Threads:   any; one lock, held for the look-up alone. Loading waits for the database: job threads only.
 * Errors:    NOT_FOUND also for another tenant's session; those of the store. */
#pragma once

#include "gateway/sessions/session_options.h"
#include "gateway/store/connection.h"
#include "gateway/store/places.h"

enum { SESSION_FRESH_MS = 2000, SESSION_STALE_MS = 30000, SESSION_RETRY_MS = 500 };

typedef struct SessionSnapshot {
    int32_t reference_count; /* atomic */
    TenantId tenant;
    SessionId id;
    SessionOptions options;
    GraphId newest; /* the graph of a step that names none; zero: the session has no graph */
    uint64_t loaded_ns;
    uint64_t fresh_until_ns; /* under the cache's lock */
    size_t place_count;
    SessionPlace places[]; /* where its variables are kept */
} SessionSnapshot;

typedef struct SessionCache SessionCache;

/* NULL without memory. */
MUST_USE SessionCache *session_cache_new(void);
void session_cache_free(SessionCache *cache); /* NULL is allowed */

/* Returns a new reference, or NULL when the session must be loaded. */
SessionSnapshot *session_cache_find(SessionCache *cache, TenantId tenant, SessionId id, uint64_t now_ns);

/* Returns what was known before the database went away, or NULL when nothing was or SESSION_STALE_MS are
 * over. The next caller tries to load it after SESSION_RETRY_MS. */
SessionSnapshot *session_cache_find_stale(SessionCache *cache, TenantId tenant, SessionId id);

MUST_USE Status session_cache_load(Call *call, SessionCache *cache, Store *store, TenantId tenant,
    SessionId id, SessionSnapshot **ret_session);

/* Takes the caller's reference over. */
void session_cache_put(SessionCache *cache, SessionSnapshot *session);

/* Forgets a session that has changed or been deleted. */
void session_cache_drop(SessionCache *cache, TenantId tenant, SessionId session);

size_t session_cache_count(SessionCache *cache);

void session_snapshot_unref(void *snapshot); /* NULL is allowed; fits arena_defer */
