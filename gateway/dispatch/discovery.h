/* Discovery asks every worker that is configured or has joined for its status, once a second, and publishes a
 * list of workers. After three misses, or as a new incarnation, a worker counts as lost until it answers
 * again. A worker that is reached by several addresses, or found in several ways, is listed once.
 *
 * Ownership: the discovery owns its poll calls; it publishes into a Directory that outlives it.
 * Threads:   one loop's thread.
 * Errors:    RESOURCE_EXHAUSTED for more workers than a list may have. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "shared/upstream/upstream.h"

typedef struct Discovery Discovery;

enum { DISCOVERY_RESOLVE_MS = 5000 };

/* An entry that begins so has the endpoints of a Service, which Kubernetes tells. */
#define DISCOVERY_KUBERNETES_PREFIX SLICE("kubernetes:")

typedef struct DiscoveryOptions {
    /* "host:port"; "dns:name:port" for every address that the name stands for; or "kubernetes:…", whose
     * endpoints come by discovery_set_endpoints(). */
    const Slice *addresses;
    size_t address_count;
    uint32_t interval_ms; /* 0: 1000 */
    UpstreamOptions upstream;
    /* Reports a worker's name that is seen for the first time, or comes back as another incarnation: its
     * task number may be looked up now and set with discovery_set_task(). May be NULL. */
    void (*on_seen)(void *context, const WorkerInfo *worker);
    /* Asks for a "dns:" entry to be resolved, at the start and every DISCOVERY_RESOLVE_MS, on another
     * thread since that waits. discovery_set_addresses() brings the answer. May be NULL when there is no
     * such entry. */
    void (*on_resolve)(void *context, size_t entry, Slice name_and_port);
    void *context;
} DiscoveryOptions;

MUST_USE Status discovery_start(
    Call *call, Loop *loop, Directory *directory, const DiscoveryOptions *options, Discovery **ret_discovery);
void discovery_stop(Discovery *discovery); /* NULL is allowed */

/* Sets the addresses of a "dns:" entry: new workers are polled at once, missing ones are forgotten. */
void discovery_set_addresses(
    Discovery *discovery, size_t entry, const Slice *addresses, size_t address_count);

/* A place where a worker runs, as whoever started it tells. */
typedef struct DiscoveryEndpoint {
    Slice address;
    bool takes_steps; /* false: it is being ended, or not ready; it is not lost for that */
} DiscoveryEndpoint;

/* Sets the endpoints of a "kubernetes:" entry: new workers are polled at once, missing ones are forgotten,
 * and those that take no steps are shown as draining. */
void discovery_set_endpoints(
    Discovery *discovery, size_t entry, DiscoveryEndpoint *endpoints, size_t endpoint_count);

/* A worker that has joined by itself. */
typedef struct DiscoveryMember {
    Slice address;
    Slice incarnation; /* of the life that has joined */
} DiscoveryMember;

/* Sets which workers have joined: those that are new, or live anew, are polled at once, missing ones are
 * forgotten. One whose address is configured as well is one worker: it stays when it leaves, and when it is
 * configured no more. */
void discovery_set_members(
    Discovery *discovery, int64_t epoch, DiscoveryMember *members, size_t member_count);

/* Sets the task number of the worker of this name, as kept in the database. */
void discovery_set_task(Discovery *discovery, const char *name, int32_t task);

/* Marks a worker for draining, or takes the mark back: no new steps go to a draining worker. */
void discovery_set_draining(Discovery *discovery, const char *name, bool is_draining);
