/* Graphs as this process knows them: immutable snapshots, so that a step whose graph was used before asks the
 * database for nothing.
 *
 * Graphs never change. When all of them together (graph_costs.h) pass the bound, the least recently used
 * leave, and with them the plans that were made of them. A graph larger than the bound is not kept.
 *
 * Ownership: snapshots are refcounted; the cache holds one reference each.
 * Threads:   any; one lock, held for the look-up alone. Loading waits for the database: job threads only.
 * Errors:    NOT_FOUND also for another tenant's graph; those of the store and of the formats. */
#pragma once

#include "gateway/store/connection.h"
#include "shared/graph/graph.h"

typedef struct GraphSnapshot {
    int32_t reference_count; /* atomic */
    TenantId tenant;
    SessionId session;
    GraphId id;
    char id_text[ID_TEXT_SIZE];
    Graph *graph;
    size_t source_size; /* bytes that were sent, all parts together */
    uint64_t used_ns;   /* under the cache's lock */
} GraphSnapshot;

typedef struct GraphCache GraphCache;

MUST_USE GraphCache *graph_cache_new(size_t byte_size_max);
void graph_cache_free(GraphCache *cache); /* NULL is allowed */

/* Hears of each graph that has to leave, under the cache's lock; at most one listener. */
typedef void (*GraphEvicted)(void *context, const GraphSnapshot *graph);
void graph_cache_on_evict(GraphCache *cache, GraphEvicted evicted, void *context);

typedef struct GraphCacheStats {
    size_t byte_size;
    size_t graph_count;
    uint64_t eviction_count;
} GraphCacheStats;
GraphCacheStats graph_cache_stats(GraphCache *cache);

/* Returns a new reference, or NULL when the graph must be loaded. */
GraphSnapshot *graph_cache_find(GraphCache *cache, TenantId tenant, SessionId session, GraphId id);

/* Loads the graph of `wanted`'s tenant, session and id. */
MUST_USE Status graph_cache_load(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph);

/* Finds or loads; call->arena holds the reference. */
MUST_USE Status graph_cache_obtain(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph);

/* Keeps a graph that was just made, by `identity`'s tenant, session and id. Takes a new reference to it. */
void graph_cache_put(GraphCache *cache, const GraphSnapshot *identity, Graph *graph, size_t source_size);

/* Forgets a graph that has been deleted. */
void graph_cache_drop(GraphCache *cache, TenantId tenant, SessionId session, GraphId id);

/* Forgets one graph, whichever, of a session that has been deleted. False: there is none. */
bool graph_cache_drop_any(GraphCache *cache, TenantId tenant, SessionId session, GraphId *ret_graph);

GraphSnapshot *graph_snapshot_ref(GraphSnapshot *graph);
void graph_snapshot_unref(void *snapshot); /* NULL is allowed; fits arena_defer */
