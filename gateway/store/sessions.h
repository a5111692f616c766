/* Sessions: a tenant's named scopes for graphs and runs.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    NOT_FOUND also when the session is another tenant's. */
#pragma once

#include "gateway/store/connection.h"
#include "gateway/store/page.h"

typedef struct Session {
    SessionId id;
    const char *name;
    const char *options; /* a JSON object */
    int64_t version;     /* grows with every change: the resource's ETag */
    uint64_t created_us;
    uint64_t updated_us;
} Session;

typedef struct SessionPage {
    Session *items;
    size_t count;
    bool has_more;
} SessionPage;

/* Stores a session with the id, name and options of `session`; `ret_session` is the stored row.
 * RESOURCE_EXHAUSTED when the tenant's quota of sessions is used up, ALREADY_EXISTS when the id is taken. */
MUST_USE Status sessions_create(
    Call *call, Store *store, TenantId tenant, const Session *session, Session *ret_session);

MUST_USE Status sessions_find(Call *call, Store *store, TenantId tenant, SessionId id, Session *ret_session);
MUST_USE Status sessions_list(
    Call *call, Store *store, TenantId tenant, const Page *page, SessionPage *ret_page);

/* Writes name and options (NULL keeps either) of the session with `session->id`, if its version still is
 * `session->version`; ABORTED when it is another. */
MUST_USE Status sessions_update(
    Call *call, Store *store, TenantId tenant, const Session *session, Session *ret_session);

/* Removes a session with its graphs, cancels its queued steps and asks the holders of its running ones to
 * cancel them. `version` as in sessions_update(), 0 for any. */
MUST_USE Status sessions_delete(Call *call, Store *store, TenantId tenant, SessionId id, int64_t version);
