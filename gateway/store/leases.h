/* Leases on work that one replica does for all. Time is the database's clock only.
 *
 * Threads: the thread of the Store. */
#pragma once

#include "gateway/store/connection.h"

typedef struct Lease {
    bool is_held;  /* by `owner`, now and for the time that was asked for */
    int64_t fence; /* grows with every new holder */
} Lease;

/* Takes the lease `name` for `owner`, or keeps it. For a store of the role QUEUE. */
MUST_USE Status leases_acquire(
    Call *call, Store *store, const char *name, const char *owner, uint64_t time_ms, Lease *ret_lease);

/* Gives the lease back; nothing happens when another owner holds it. */
MUST_USE Status leases_release(Call *call, Store *store, const char *name, const char *owner);
