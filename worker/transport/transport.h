/* Carries values to the other slots of a step: the remote side of a rendezvous.
 *
 * A value for a slot in this process is handed over as a pointer. Others go over HTTP/2: a tensor of up to
 * PUSH_SIZE_MAX bytes is pushed as soon as it is produced (one round trip less than pulling), a larger one
 * is parked here, announced, and pulled when the receiver wants it. Values that one turn of the loop has
 * for one slot travel in one request.
 *
 * Ownership: a TransportStep is refcounted; its StepEntry holds one reference, each message on its way
 * another.
 * Threads:   a Transport belongs to its loop; the hooks of transport_step_remote() may be called on any
 * thread.
 * Errors:    a value that cannot be delivered aborts the step's rendezvous with UNAVAILABLE and the peer's
 * address, or with the failure that the peer answered; a run that has ended by then learns of it by
 * transport_step_settle(). So does, a second after the step's deadline, a peer
 * that is connected and does not answer. A pull whose connection broke is repeated once before, since the
 * peer keeps a value until all of it was read. A push is not: the peer may have taken some of its values. */
#pragma once

#include "shared/base/failure.h"
#include "shared/net/loop.h"
#include "shared/net/socket.h"
#include "shared/upstream/upstream.h"
#include "shared/wire/messages.h"
#include "worker/runtime/run/rendezvous.h"

typedef struct Transport Transport;

typedef struct TransportOptions {
    UpstreamOptions upstream;
    const char *incarnation; /* incarnation of this worker; a peer with the same one is in this process */
    /* Returns a new reference to the rendezvous of a slot in this process; NULL when the attempt has
     * ended. Called on any thread. */
    Rendezvous *(*find_local)(void *context, Slice step, int64_t attempt, int64_t slot, Slice push_token);
    void *context;
} TransportOptions;

MUST_USE Transport *transport_new(Loop *loop, const TransportOptions *options);
void transport_free(Transport *transport); /* NULL is allowed */

/* Returns the connections to other workers. */
Upstream *transport_upstream(const Transport *transport);

typedef struct TransportStep TransportStep;

/* Makes a step with the peers that `run` names; everything is copied. Transfers carry the deadline (of the
 * loop's clock; 0: none), and end soon after it. NULL without memory. */
MUST_USE TransportStep *transport_step_new(
    Transport *transport, Slice step, const WireRun *run, uint64_t deadline_ns);
void transport_step_unref(TransportStep *step); /* NULL is allowed */

/* Returns the hooks for rendezvous_new(). transport_step_attach() then names the rendezvous, to which the
 * step holds no reference: transport_step_detach() must be called before the rendezvous is freed. */
RendezvousRemote transport_step_remote(TransportStep *step);
void transport_step_attach(TransportStep *step, Rendezvous *rendezvous);
void transport_step_detach(TransportStep *step);

/* Tells the peers' workers that this attempt is over (CleanupGraph), on the transport's loop: nobody else
 * can, when the gateway is gone. What does not arrive is left to the step's deadline. */
void transport_step_end_peers(TransportStep *step);

/* Returns the address of the first peer that could not be reached, or NULL. */
const char *transport_step_lost_peer(const TransportStep *step);

/* The wait of a run that has ended until its peers have taken the values that were pushed to them, or never
 * will. Nobody but the sender learns of a value that did not arrive, so that its run has not ended well
 * before. The members belong to the caller; `done` is called once, on the transport's loop. */
typedef struct TransportWait {
    void (*done)(struct TransportWait *wait);
} TransportWait;

/* Returns whether all that was sent has been taken or has failed, on the transport's loop. False: `wait` is
 * told, unless transport_step_forget() is called before. One waits at a time. */
MUST_USE bool transport_step_settle(TransportStep *step, TransportWait *wait);
void transport_step_forget(TransportStep *step);

/* Returns the failure of the first transfer that failed; code STATUS_OK: none has. */
Failure transport_step_failure(TransportStep *step);
