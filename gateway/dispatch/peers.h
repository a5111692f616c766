/* Asks a worker what has passed between it and the others.
 *
 * Ownership: what the end names lives until `done` returns.
 * Threads:   the dispatcher's loop. */
#pragma once

#include "gateway/dispatch/directory.h"
#include "gateway/dispatch/step.h"
#include "shared/wire/peer_traffic.h"

typedef struct PeersEnd {
    Status status;       /* UNAVAILABLE when the worker does not answer, or is another life */
    const char *message; /* "" when OK */
    const WirePeerTraffic *peers;
    size_t count;
} PeersEnd;

/* `done` is called once, on the loop's thread, never from within; false without memory: it will not be
 * called. */
typedef void (*PeersDone)(void *context, const PeersEnd *end);
MUST_USE bool dispatcher_ask_peers(
    Dispatcher *dispatcher, const WorkerInfo *worker, PeersDone done, void *context);
