/* The leases of workers that have joined by themselves. The database tells every gateway of a change by
 * itself (migrations/0020_membership.sql).
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store, which has the role QUEUE. */
#pragma once

#include "gateway/store/connection.h"

typedef struct WorkerLease {
    const char *name;
    const char *address;
    const char *incarnation;
    int64_t lease_ms;
    int64_t beats;       /* grows with each renewal */
    uint64_t renewed_us; /* by the database's clock */
} WorkerLease;

typedef struct WorkerLeaseList {
    int64_t epoch;   /* rises with every change of membership */
    uint64_t now_us; /* by the database's clock */
    WorkerLease *items;
    size_t count; /* at most 4096 */
} WorkerLeaseList;

/* Begins or renews a lease. False is returned, and nothing changed, when another life of this name holds one
 * at another address, unless the caller knows that one as lost. */
MUST_USE Status worker_leases_put(
    Call *call, Store *store, const WorkerLease *lease, bool is_other_lost, bool *ret_is_held);

MUST_USE Status worker_leases_list(Call *call, Store *store, WorkerLeaseList *ret_list);

/* Ends the lease of this life of the worker, if it has one. */
MUST_USE Status worker_leases_delete(Call *call, Store *store, const char *name, const char *incarnation);

/* Ends those of these leases that have not been renewed since they were read; tells how many. */
MUST_USE Status worker_leases_lapse(
    Call *call, Store *store, const WorkerLease *const *lapsed, size_t count, uint64_t *ret_count);

/* Sets the drain mark of this life of the worker, so that all gateways keep new steps from it. */
MUST_USE Status worker_mark_leaving(Call *call, Store *store, const char *name, const char *incarnation);
