#include "shared/upstream/traffic.h"

#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/net/socket.h"

/* The counts are atomic. */
struct PeerTraffic {
    char address[ADDRESS_TEXT_SIZE];
    int64_t calls;
    int64_t errors;
    int64_t sent;
    int64_t received;
    int64_t round_trip_ns; /* the shortest; 0: none yet */
};

struct Traffic {
    Mutex lock; /* guards `peers` */
    Map *peers; /* address → PeerTraffic */
};

Traffic *
traffic_new(void)
{
    Traffic *traffic = memory_new(1, sizeof *traffic);
    Map *peers = map_new();
    if (traffic == NULL || peers == NULL) {
        memory_free(traffic);
        map_free(peers);
        return NULL;
    }
    mutex_init(&traffic->lock);
    traffic->peers = peers;
    return traffic;
}

void
traffic_free(Traffic *traffic)
{
    if (traffic == NULL) {
        return;
    }
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(traffic->peers, &cursor); entry != NULL;
         entry = map_next(traffic->peers, &cursor)) {
        memory_free(entry->value);
    }
    map_free(traffic->peers);
    mutex_done(&traffic->lock);
    memory_free(traffic);
}

/* Returns NULL without memory, and when there are too many. The lock must be held. */
static PeerTraffic *
add_peer(Traffic *traffic, const char *address)
{
    PeerTraffic *peer = map_count(traffic->peers) >= TRAFFIC_PEERS_MAX ? NULL : memory_new(1, sizeof *peer);
    if (peer != NULL) {
        (void)snprintf(peer->address, sizeof peer->address, "%s", address);
        if (!map_put(traffic->peers, slice_from_string(peer->address), peer)) {
            memory_free(peer);
            return NULL;
        }
    }
    return peer;
}

PeerTraffic *
traffic_of(Traffic *traffic, const char *address)
{
    if (traffic == NULL) {
        return NULL;
    }
    mutex_lock(&traffic->lock);
    PeerTraffic *peer = map_get(traffic->peers, slice_from_string(address));
    if (peer == NULL) {
        peer = add_peer(traffic, address);
    }
    mutex_unlock(&traffic->lock);
    return peer;
}

/* Two loops that note at the same moment may keep the longer one, until the next call. */
static void
note_round_trip(PeerTraffic *peer, int64_t time_ns)
{
    int64_t known_ns = atomic_load_relaxed(&peer->round_trip_ns);
    if (time_ns > 0 && (known_ns == 0 || time_ns < known_ns)) {
        atomic_store_relaxed(&peer->round_trip_ns, time_ns);
    }
}

void
traffic_count(PeerTraffic *peer, const TrafficCall *call)
{
    if (peer != NULL) {
        (void)atomic_add_relaxed(&peer->calls, 1);
        (void)atomic_add_relaxed(&peer->errors, call->has_failed);
        (void)atomic_add_relaxed(&peer->sent, (int64_t)call->sent);
        (void)atomic_add_relaxed(&peer->received, (int64_t)call->received);
        note_round_trip(peer, (int64_t)call->round_trip_ns);
    }
}

WirePeerTraffic
traffic_sum(Traffic *traffic)
{
    WirePeerTraffic sum = {0};
    size_t cursor = 0;
    mutex_lock(&traffic->lock);
    for (const MapEntry *entry = map_next(traffic->peers, &cursor); entry != NULL;
         entry = map_next(traffic->peers, &cursor)) {
        const PeerTraffic *peer = entry->value;
        sum.calls += atomic_load_relaxed(&peer->calls);
        sum.errors += atomic_load_relaxed(&peer->errors);
        sum.sent += atomic_load_relaxed(&peer->sent);
        sum.received += atomic_load_relaxed(&peer->received);
    }
    mutex_unlock(&traffic->lock);
    return sum;
}

size_t
traffic_list(Traffic *traffic, WirePeerTraffic *ret_peers)
{
    size_t count = 0;
    size_t cursor = 0;
    mutex_lock(&traffic->lock);
    for (const MapEntry *entry = map_next(traffic->peers, &cursor); entry != NULL && count < WIRE_PEERS_MAX;
         entry = map_next(traffic->peers, &cursor)) {
        const PeerTraffic *peer = entry->value;
        ret_peers[count++] = (WirePeerTraffic){
            .address = slice_from_string(peer->address),
            .calls = atomic_load_relaxed(&peer->calls),
            .errors = atomic_load_relaxed(&peer->errors),
            .sent = atomic_load_relaxed(&peer->sent),
            .received = atomic_load_relaxed(&peer->received),
            .round_trip_us = (atomic_load_relaxed(&peer->round_trip_ns) + 999) / 1000,
        };
    }
    mutex_unlock(&traffic->lock);
    return count;
}
