/* Happy path: upstream_begin() finds or opens the worker's connection and submits the headers → body pieces
 * are queued without copies (call.c) → the answer is read (answer.c) → on_close ends the call.
 *
 * Failure: a connection that breaks closes all its streams with UNAVAILABLE; the next call opens a new one.
 */
#include <stdio.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/upstream/internal.h"
#include "shared/upstream/request_headers.h"

enum {
    BODY_SIZE_MAX = 1 << 20,
    /* The worker ends a call at its deadline and says why: its answer shall come first. */
    DEADLINE_GRACE_MS = 1000,
    PEERS_SWEPT = 64, /* as many, and those without a connection are forgotten */
};

/* --- Calls that failed at once, or too late ------------------------------------------------------------- */

/* A worker that is alive, for its connection is, but keeps this call waiting. */
static void
deadline_passed(Timer *timer)
{
    UpstreamCall *const call = (UpstreamCall *)(void *)((char *)timer - offsetof(UpstreamCall, deadline));
    upstream_call_break(call, STATUS_UNAVAILABLE, "the worker did not answer in time");
}

static void
tell_failed(Task *task)
{
    Upstream *const upstream = (Upstream *)(void *)((char *)task - offsetof(Upstream, tell_failed));
    while (!list_is_empty(&upstream->failed)) {
        UpstreamCall *const call = LIST_ITEM(list_first(&upstream->failed), UpstreamCall, link);
        list_remove(&call->link);
        const bool was_cancelled = call->failure == STATUS_CANCELLED;
        upstream_call_end(call, was_cancelled ? STATUS_CANCELLED : STATUS_UNAVAILABLE, call->message);
    }
}

/* --- Connections ---------------------------------------------------------------------------------------- */

Upstream *
upstream_new(Loop *loop, const UpstreamOptions *options)
{
    Upstream *const upstream = memory_new(1, sizeof *upstream);
    if (upstream == NULL) {
        return NULL;
    }
    upstream->loop = loop;
    upstream->options = *options;
    upstream->tell_failed.run = tell_failed;
    list_init(&upstream->failed);
    list_init(&upstream->spare_calls);
    upstream->peers = map_new();
    if (upstream->peers == NULL) {
        memory_free(upstream);
        return NULL;
    }
    return upstream;
}

void
upstream_free(Upstream *upstream)
{
    if (upstream == NULL) {
        return;
    }
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(upstream->peers, &cursor); entry != NULL;
         entry = map_next(upstream->peers, &cursor)) {
        Peer *const peer = entry->value;
        if (peer->connection != NULL) {
            h2_abort(peer->connection);
        }
        memory_free(peer);
    }
    tell_failed(&upstream->tell_failed);
    while (upstream->spare_count > 0) {
        upstream_call_free(upstream_call_new(upstream));
    }
    map_free(upstream->peers);
    memory_free(upstream);
}

size_t
upstream_peer_count(const Upstream *upstream)
{
    return map_count(upstream->peers);
}

/* Those that have no connection: workers that are gone, or will be found again. */
static void
peers_sweep(Upstream *upstream)
{
    size_t cursor = 0;
    if (map_count(upstream->peers) < PEERS_SWEPT) {
        return;
    }
    for (const MapEntry *entry = map_next(upstream->peers, &cursor); entry != NULL;
         entry = map_next(upstream->peers, &cursor)) {
        Peer *const peer = entry->value;
        if (peer->connection == NULL) {
            (void)map_remove(upstream->peers, entry->key);
            memory_free(peer);
        }
    }
}

static Peer *
peer_find(Upstream *upstream, const char *address)
{
    const Slice key = slice_from_string(address);
    Peer *peer = map_get(upstream->peers, key);
    if (peer != NULL) {
        return peer;
    }
    peers_sweep(upstream);
    peer = memory_new(1, sizeof *peer);
    if (peer == NULL || !map_put(upstream->peers, key, peer)) {
        memory_free(peer);
        return NULL;
    }
    peer->upstream = upstream;
    (void)snprintf(peer->address, sizeof peer->address, "%s", address);
    return peer;
}

static Status
peer_connect(Call *call, Peer *peer)
{
    if (peer->connection != NULL) {
        return STATUS_OK;
    }
    const H2Options options = {
        .handlers = &upstream_handlers,
        .context = peer,
        .connect_timeout_ms = peer->upstream->options.connect_timeout_ms,
    };
    return h2_connect(call, peer->upstream->loop, peer->address, &options, &peer->connection);
}

/* --- Requests ------------------------------------------------------------------------------------------- */

static H2Stream *
stream_open(UpstreamCall *call, Peer *peer, const UpstreamHead *head)
{
    RequestHeaders list;
    request_headers_fill(&list, head, peer->address, peer->upstream->options.token);
    return h2_request(peer->connection, list.headers, list.count, false, &upstream_handlers, call);
}

UpstreamCall *
upstream_begin(Upstream *upstream, const UpstreamHead *head, const UpstreamEvents *events, void *context)
{
    Peer *const peer = peer_find(upstream, head->address);
    UpstreamCall *const call = peer == NULL ? NULL : upstream_call_new(upstream);
    if (call == NULL) {
        return NULL;
    }
    *call = (UpstreamCall){
        .upstream = upstream,
        .events = events,
        .context = context,
        .arena = call->arena,
        .reader = call->reader,
        .body.size_max = BODY_SIZE_MAX,
    };
    list_init(&call->link);
    Call opening = {.arena = call->arena};
    if (peer_connect(&opening, peer) == STATUS_OK) {
        call->stream = stream_open(call, peer, head);
    }
    if (call->stream == NULL) {
        (void)snprintf(call->message, sizeof call->message, "worker at %s: %s", peer->address,
            opening.error.code == STATUS_OK ? "no stream could be opened" : opening.error.message);
        list_append(&upstream->failed, &call->link);
        loop_defer(upstream->loop, &upstream->tell_failed);
    } else if (head->deadline_ms > 0) {
        call->deadline.fire = deadline_passed;
        timer_set(upstream->loop, &call->deadline,
            loop_now_ns(upstream->loop) + (head->deadline_ms + DEADLINE_GRACE_MS) * CLOCK_NS_PER_MS);
    }
    return call;
}
