/* The way of values to the other slots of a step: the remote side of a rendezvous.
 *
 * A value for a slot in this same process is handed over as a pointer. Others go over HTTP/2: up to 256 KiB a
 * tensor is pushed as soon as it is produced (one round trip less than pulling), a larger one is parked here,
 * announced, and pulled when the receiver wants it. What one turn of the loop has for one peer travels in one
 * request.
 *
 * Ownership: a TransportStep is refcounted: its run holds one reference, each message on its way another.
 * Threads:   a Transport belongs to its loop; the hooks of transport_step_remote() may be called on any
 * thread. Errors:    a value that cannot be delivered aborts the step's rendezvous with UNAVAILABLE and the
 * peer's address, or with what the peer answered. */
#pragma once

#include "shared/net/loop.h"
#include "shared/net/socket.h"
#include "shared/upstream/upstream.h"
#include "shared/wire/messages.h"
#include "worker/runtime/run/rendezvous.h"

typedef struct Transport Transport;

typedef struct TransportOptions {
    UpstreamOptions upstream;
    const char *incarnation; /* ours: peers that carry it are this process */
    /* The rendezvous of a slot of a step in this process, a new reference; NULL when it is not there. */
    Rendezvous *(*find_local)(void *context, Slice step, int64_t attempt, int64_t slot, Slice push_token);
    void *context;
} TransportOptions;

MUST_USE Transport *transport_new(Loop *loop, const TransportOptions *options);
void transport_free(Transport *transport); /* NULL is allowed */

typedef struct TransportStep TransportStep;

/* `run` tells the peers; everything is copied. NULL without memory. */
MUST_USE TransportStep *transport_step_new(Transport *transport, Slice step, const WireRun *run);
void transport_step_unref(TransportStep *step); /* NULL is allowed */

/* The hooks for rendezvous_new(), and the rendezvous they serve, told afterwards. The step does not hold a
 * reference to it: transport_step_detach() must come before it goes away. */
RendezvousRemote transport_step_remote(TransportStep *step);
void transport_step_attach(TransportStep *step, Rendezvous *rendezvous);
void transport_step_detach(TransportStep *step);
