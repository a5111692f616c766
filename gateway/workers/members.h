/* The workers that have joined by themselves, as the database has them, and the end of leases that were not
 * renewed (gateway/domain/lease_watch.h).
 *
 * Ownership: a Members is a plain value, zero at first; the texts of its list live in the call's arena.
 * Threads:   one at a time. */
#pragma once

#include "gateway/domain/lease_watch.h"
#include "gateway/store/worker_leases.h"

typedef struct Members {
    LeaseWatch watch;
    WorkerLeaseList list; /* those whose leases last */
    uint64_t due_ms;      /* until the next lease ends, unless it is renewed; UINT64_MAX: there is none */
} Members;

/* Reads who has joined, and takes those off whose leases have lapsed. For a store of the role QUEUE. On
 * failure the list is empty, and nobody is judged by what was not seen. */
MUST_USE Status members_read(Call *call, Store *store, Members *members);
