/* The traffic between this process and each of its peers, on all loops: the calls that it has made, and
 * how they went.
 *
 * Ownership: one for a process; it outlives the upstreams that count into it. A peer is never forgotten.
 * Threads:   any; counting takes no lock.
 * Errors:    none; what there is no memory for is not counted. */
#pragma once

#include "shared/base/compiler.h"
#include "shared/wire/peer_traffic.h"

enum { TRAFFIC_PEERS_MAX = WIRE_PEERS_MAX };

typedef struct Traffic Traffic;
typedef struct PeerTraffic PeerTraffic;

MUST_USE Traffic *traffic_new(void); /* NULL without memory */
void traffic_free(Traffic *traffic); /* NULL is allowed */

/* Returns the counts of the peer at this address; NULL when they cannot be kept, or are not to be. */
PeerTraffic *traffic_of(Traffic *traffic, const char *address);

/* A call that has ended. */
typedef struct TrafficCall {
    bool has_failed;
    uint64_t sent;          /* bytes of the request's body */
    uint64_t received;      /* bytes of the answer's body */
    uint64_t round_trip_ns; /* from the request's end to the answer's head; 0: there was none */
} TrafficCall;

void traffic_count(PeerTraffic *peer, const TrafficCall *call); /* NULL is allowed */

/* Lists the counts of at most WIRE_PEERS_MAX peers, in no order; returns how many. The addresses live as long
 * as the Traffic. */
size_t traffic_list(Traffic *traffic, WirePeerTraffic *ret_peers);

/* Adds all peers up; the sum has no address, and no round trip. */
WirePeerTraffic traffic_sum(Traffic *traffic);
