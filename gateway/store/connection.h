/* One connection to PostgreSQL under one of the store's roles: prepared statements by name, transactions
 * that carry the tenant, waits that end at the call's deadline.
 *
 * A statement outside a transaction is a transaction of its own: the tenant, the statement and the commit
 * travel together, in one round trip. Between store_begin() and store_commit() statements share a
 * transaction; begin travels with the first of them.
 *
 * Ownership: store_close() frees it. Rows belong to the caller.
 * Threads:   one at a time; each job thread has its own.
 * Errors:    UNAVAILABLE: PostgreSQL cannot be reached, does not answer anybody (pulse.h), has no room, or
 *            the connection was lost; the next statement
 *            outside a transaction connects again, after a pause that grows with every failure.
 *            DEADLINE_EXCEEDED: the call's deadline came first.
 *            UNKNOWN: the connection was lost while a transaction was being committed, which may have
 *            happened: PostgreSQL has not come back within two seconds to say whether.
 *            All others: the table in sqlstate.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/store/rows.h"
#include "gateway/store/statement.h"
#include "gateway/store/values.h"
#include "shared/base/call.h"
#include "shared/base/uuid.h"

typedef struct Store Store;
typedef struct BlobBackend BlobBackend; /* gateway/store/blob_backend.h */

typedef enum StoreRole {
    STORE_ROLE_APP,   /* request paths, one tenant at a time */
    STORE_ROLE_QUEUE, /* claims, leases, batch records of all tenants */
    STORE_ROLE_AUTH,  /* keys_verify() only */
} StoreRole;

typedef struct StoreOptions {
    const char *conninfo; /* libpq's URL or keywords; its user is not used */
    StoreRole role;
    const char *user;     /* a member of the role; NULL: the role itself, as "sluice_app" */
    uint64_t wait_max_ms; /* the longest wait for one answer, whatever the deadline; 0: 30,000 */
    BlobBackend *blobs;   /* where large blobs lie; outlives the store. NULL: in PostgreSQL */
    bool is_probe;        /* takes the pulse (pulse.h), which does not bind it */
    const char *gateway;  /* holds the idempotency keys that are taken here; NULL: none does */
} StoreOptions;

/* The tenant of statements that belong to none: the queue role sees all tenants then, the others no rows. */
#define NO_TENANT ((TenantId){{{0}}})

/* Connects. FAILED_PRECONDITION when the role could see past row security (superuser, BYPASSRLS, owner).
 * UNAVAILABLE when PostgreSQL cannot be reached; *ret_store is untouched. Resolving a host name may block. */
MUST_USE Status store_open(Call *call, const StoreOptions *options, Store **ret_store);
void store_close(Store *store); /* NULL is allowed */

/* Runs one statement. `ret_rows` is empty, or zeroed, before; rows_done() frees it. */
MUST_USE Status store_query(Call *call, Store *store, TenantId tenant, const Statement *statement,
    const Values *values, Rows *ret_rows);

/* Runs a statement without rows. `ret_changed` is how many rows it changed; NULL is allowed. */
MUST_USE Status store_execute(Call *call, Store *store, TenantId tenant, const Statement *statement,
    const Values *values, uint64_t *ret_changed);

/* Transactions do not nest. */
MUST_USE Status store_begin(Call *call, Store *store, TenantId tenant);
MUST_USE Status store_commit(Call *call, Store *store);

/* Ends a transaction without effect; nothing happens when there is none. */
void store_rollback(Store *store);

bool store_is_in_transaction(const Store *store);

typedef enum StorePresence {
    STORE_SERVES,
    STORE_STARTS, /* it starts, recovers or stops, and lets nobody in */
    STORE_IS_AWAY,
    STORE_IS_NOT_NAMED, /* the conninfo cannot be read, or names a service that is not defined */
} StorePresence;

/* Asks whether the server lets anybody in, for a few seconds at most; whoever that is. */
StorePresence store_ping(const char *conninfo);

/* Fails with INVALID_ARGUMENT, and libpq's words, for a conninfo that names no server. */
MUST_USE Status store_fail_unnamed(Call *call, const char *conninfo);

/* Asks how many connections PostgreSQL allows at a time, for all roles and programs together. */
MUST_USE Status store_connections_allowed(Call *call, Store *store, uint64_t *ret_count);

/* Rolls a transaction back on every way out of a scope but a commit: after store_begin(),
 *     AUTO_TRANSACTION transaction = store;
 *     …
 *     return store_commit(call, TAKE(transaction)); */
static inline void
store_rollbackp(Store **store)
{
    if (*store != NULL) {
        store_rollback(*store);
    }
}
#define AUTO_TRANSACTION CLEANUP(store_rollbackp) Store *

static inline void
store_closep(Store **store)
{
    store_close(*store);
}
#define AUTO_STORE CLEANUP(store_closep) Store *
