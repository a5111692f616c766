/* Work that one replica does for all: who holds it, by the database's clock only. */
#pragma once

#include "gateway/store/connection.h"

typedef struct Lease {
    bool is_held;  /* by `owner`, now and for the time that was asked */
    int64_t fence; /* grows with every new holder */
} Lease;

/* Takes, or keeps, the lease `name` for `owner`. For a store of the role QUEUE. */
MUST_USE Status leases_acquire(
    Call *call, Store *store, const char *name, const char *owner, uint64_t time_ms, Lease *ret_lease);

/* Gives it back; nothing happens when another holds it. */
MUST_USE Status leases_release(Call *call, Store *store, const char *name, const char *owner);
