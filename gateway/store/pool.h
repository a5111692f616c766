/* The rounds by which gateways share the pool's slots (gateway/domain/shares.h), one at a time: what each of
 * them has told last, and the virtual times of tenants. Time is the database's clock only.
 *
 * Nothing of it outlives a crash of PostgreSQL: every gateway tells it again.
 *
 * Ownership: arrays live in call->arena.
 * Threads:   the thread of the Store, which has the role QUEUE. */
#pragma once

#include "gateway/domain/shares.h"
#include "gateway/store/connection.h"

/* The gateway that makes a round. */
typedef struct PoolMember {
    const char *owner;
    uint64_t lease_ms;        /* how long it keeps its place among the gateways */
    const TenantId *reported; /* the tenants of which it has something to tell */
    size_t reported_count;
} PoolMember;

/* Begins a round in a transaction. The pool has all demands of the last rounds, and the tenants with a
 * demand, with a virtual time that counts, or among `reported`; one that has been deleted is left out. */
MUST_USE Status pool_round_begin(
    Call *call, Store *store, const PoolMember *member, PoolShares *ret_pool, ShareReport *ret_report);

/* Writes what has come of the round: the virtual times, and the demands of the gateway that made it. */
MUST_USE Status pool_round_end(
    Call *call, Store *store, const char *owner, const PoolShares *pool, size_t gateway);

/* Takes a gateway that stops out of the pool. */
MUST_USE Status pool_leave(Call *call, Store *store, const char *owner);
