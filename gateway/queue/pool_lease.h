/* The gateway's part in the pool's slots, leased in PostgreSQL in the background: a thread tells what tenants
 * do here, several times a second, and hands the answer to admission (gateway/admission).
 *
 * While PostgreSQL cannot be reached, admission goes on with what the gateway has had on average. A gateway
 * that is not heard of for POOL_LEASE_MS has left, and the others take its slots.
 *
 * Ownership: borrows the admission.
 * Threads:   any.
 * Errors:    pool_lease_new(): UNAVAILABLE for the thread. An unreachable PostgreSQL is no error: the thread
 *            tries again. */
#pragma once

#include "gateway/admission/admission.h"
#include "shared/base/call.h"

enum { POOL_LEASE_MS = 4000 };

typedef struct PoolLease PoolLease;

typedef struct PoolLeaseOptions {
    const char *conninfo; /* outlives the lease, as `owner` does */
    const char *owner;    /* names this process life; unique */
    uint64_t waiting_max; /* AdmissionOptions.waiting_max */
    /* Returns how many slots the workers have together, as this gateway knows. */
    double (*count_slots)(void *context);
    void *context;
} PoolLeaseOptions;

/* Makes the lease with its admission; nothing is told before pool_lease_start(). NULL without memory. */
MUST_USE PoolLease *pool_lease_new(const PoolLeaseOptions *options);
MUST_USE Status pool_lease_start(Call *call, PoolLease *lease);
Admission *pool_lease_admission(PoolLease *lease);

/* Ends the thread, and leaves the pool. NULL is allowed, here and below. */
void pool_lease_stop(PoolLease *lease);
void pool_lease_free(PoolLease *lease); /* after pool_lease_stop(), with its admission */
