/* Asks every configured worker for its status, once a second, and publishes what it learns. Three misses, or
 * a new incarnation, and the worker counts as lost until it answers again.
 *
 * Ownership: the discovery owns its poll calls; it publishes into a Directory that outlives it.
 * Threads:   one loop's thread.
 * Errors:    INVALID_ARGUMENT for an address that cannot be read. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "shared/upstream/upstream.h"

typedef struct Discovery Discovery;

enum { DISCOVERY_RESOLVE_MS = 5000 };

typedef struct DiscoveryOptions {
    const Slice *addresses; /* "host:port", or "dns:name:port" for every address that the name stands for */
    size_t address_count;
    uint32_t interval_ms; /* 0: 1000 */
    UpstreamOptions upstream;
    /* A worker's name was seen for the first time, or came back as another incarnation: its task number may
     * be looked up now, and told with discovery_set_task(). May be NULL. */
    void (*on_seen)(void *context, const WorkerInfo *worker);
    /* The name of a "dns:" entry is due to be resolved, at the start and every DISCOVERY_RESOLVE_MS:
     * elsewhere, for that waits. discovery_set_addresses() brings the answer. May be NULL when there is no
     * such entry. */
    void (*on_resolve)(void *context, size_t entry, Slice name_and_port);
    void *context;
} DiscoveryOptions;

MUST_USE Status discovery_start(
    Call *call, Loop *loop, Directory *directory, const DiscoveryOptions *options, Discovery **ret_discovery);
void discovery_stop(Discovery *discovery); /* NULL is allowed */

/* What a "dns:" entry stands for now: workers that are new are polled at once, others are forgotten. */
void discovery_set_addresses(
    Discovery *discovery, size_t entry, const Slice *addresses, size_t address_count);

/* The task number of the worker of this name, kept in the database. */
void discovery_set_task(Discovery *discovery, const char *name, int32_t task);

/* An operator's mark: no new steps go there. */
void discovery_set_draining(Discovery *discovery, const char *name, bool is_draining);
