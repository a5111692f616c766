/* Sessions and graphs as this process knows them: immutable snapshots, so that a step whose graph was used
 * before asks the database for nothing.
 *
 * A session's snapshot is good for SESSION_FRESH_MS: within it another replica's change is not seen yet.
 * While the database is gone it serves for SESSION_STALE_MS. Graphs never change; they leave when all of them
 * together (graph_costs.h) pass the bound, the least used first, and with them whatever else was made of
 * them. One that is larger than the bound is not kept.
 *
 * Ownership: snapshots are refcounted; the cache holds one reference each.
 * Threads:   any; one lock, held for the look-up alone. Loading waits for the database: job threads only.
 * Errors:    NOT_FOUND also for another tenant's; those of the store and of the formats. */
#pragma once

#include "gateway/sessions/session_options.h"
#include "gateway/store/connection.h"
#include "gateway/store/places.h"
#include "shared/graph/graph.h"

enum { SESSION_FRESH_MS = 2000, SESSION_STALE_MS = 30000, SESSION_RETRY_MS = 500 };

typedef struct SessionSnapshot {
    int32_t reference_count; /* atomic */
    TenantId tenant;
    SessionId id;
    SessionOptions options;
    GraphId newest; /* what a step that names no graph runs; zero: there is none */
    uint64_t loaded_ns;
    uint64_t fresh_until_ns; /* under the cache's lock */
    size_t place_count;
    SessionPlace places[]; /* where it keeps its variables */
} SessionSnapshot;

typedef struct GraphSnapshot {
    int32_t reference_count; /* atomic */
    TenantId tenant;
    SessionId session;
    GraphId id;
    char id_text[ID_TEXT_SIZE];
    Graph *graph;
    size_t source_size; /* bytes of what was sent, all parts together */
    uint64_t used_ns;   /* atomic */
} GraphSnapshot;

typedef struct GraphCache GraphCache;

MUST_USE GraphCache *graph_cache_new(size_t byte_size_max);
void graph_cache_free(GraphCache *cache); /* NULL is allowed */

/* Who is told of a graph that had to leave, under the lock; at most one. */
typedef void (*GraphEvicted)(void *context, const GraphSnapshot *graph);
void graph_cache_on_evict(GraphCache *cache, GraphEvicted evicted, void *context);

typedef struct GraphCacheStats {
    size_t byte_size;
    size_t graph_count;
    uint64_t eviction_count;
} GraphCacheStats;
GraphCacheStats graph_cache_stats(GraphCache *cache);

/* A new reference, or NULL when it must be loaded. */
SessionSnapshot *graph_cache_session(GraphCache *cache, TenantId tenant, SessionId id, uint64_t now_ns);
GraphSnapshot *graph_cache_graph(GraphCache *cache, TenantId tenant, SessionId session, GraphId id);

/* Takes the caller's reference over. Sessions that are too old for any use leave from time to time. */
void graph_cache_put_session(GraphCache *cache, SessionSnapshot *session);
size_t graph_cache_session_count(GraphCache *cache);

/* While the database is gone: what was known, for SESSION_STALE_MS; the next look at it is SESSION_RETRY_MS
 * away. NULL when that is too old, or nothing. */
SessionSnapshot *graph_cache_stale_session(GraphCache *cache, TenantId tenant, SessionId id);

MUST_USE Status graph_cache_load_session(Call *call, GraphCache *cache, Store *store, TenantId tenant,
    SessionId id, SessionSnapshot **ret_session);
MUST_USE Status graph_cache_load_graph(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph);

/* From the cache, or loaded; held by call->arena. */
MUST_USE Status graph_cache_obtain_graph(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph);

/* A graph that was just made. Takes a new reference to it. */
void graph_cache_put(GraphCache *cache, const GraphSnapshot *identity, Graph *graph, size_t source_size);

/* The session has changed or gone. */
void graph_cache_drop(GraphCache *cache, TenantId tenant, SessionId session);

/* The graph has gone. */
void graph_cache_drop_graph(GraphCache *cache, TenantId tenant, SessionId session, GraphId id);

GraphSnapshot *graph_snapshot_ref(GraphSnapshot *graph);
void session_snapshot_unref(void *snapshot); /* NULL is allowed; fits arena_defer */
void graph_snapshot_unref(void *snapshot);
