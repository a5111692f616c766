/* GET /worker/v1/peers: what has passed between a worker and each of the others, by the calls that it has
 * made.
 *
 * Ownership: what is read lives in the call's arena.
 * Errors:    INVALID_ARGUMENT for a document that is none. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"

typedef struct WirePeerTraffic {
    Slice address;
    int64_t calls;
    int64_t errors; /* calls that failed, or were refused */
    int64_t sent;   /* bytes of requests' bodies */
    int64_t received;
    int64_t round_trip_us; /* the shortest from a request's end to its answer's head; 0: none yet */
} WirePeerTraffic;

enum { WIRE_PEERS_MAX = 1024 };

void wire_traffic_write(Buffer *buffer, const WirePeerTraffic *peers, size_t count);
MUST_USE Status wire_traffic_read(
    Call *call, Slice json, const WirePeerTraffic **ret_peers, size_t *ret_count);
