/* A worker's membership in the pools of its gateways: it joins, renews its lease by heartbeats, says that it
 * will leave, and leaves. Any of its gateways will do, since they share a database: when one does not answer,
 * the next is asked. A worker that no gateway answers goes on serving, and tries again.
 *
 * Ownership: made and freed by main.c; the options' texts outlive it.
 * Threads:   it has one of its own, which waits for gateways; membership_announce() and membership_free()
 * wait for that thread, on any other. Errors:    RESOURCE_EXHAUSTED and UNAVAILABLE when it cannot be made.
 * What gateways refuse is logged. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "shared/wire/versions.h"

typedef struct Membership Membership;

typedef struct MembershipOptions {
    const Slice *gateways; /* URLs of gateways of one database, the first one asked first */
    size_t gateway_count;  /* at least 1 */
    const char *token;     /* NULL: none is shown */
    const char *name;      /* the worker's */
    const char *address;   /* that gateways and workers dial */
    const char *incarnation;
    WireVersions versions; /* of the worker protocol */
} MembershipOptions;

/* Starts to join. */
MUST_USE Status membership_new(Call *call, const MembershipOptions *options, Membership **ret_membership);

/* Has the gateways keep new steps from this worker; returns when one of them has answered, or after a
 * moment. */
void membership_announce(Membership *membership);

/* Leaves, which takes a moment at most; then, or when no gateway answers, frees. NULL is allowed. */
void membership_free(Membership *membership);
