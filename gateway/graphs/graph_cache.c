#include "gateway/graphs/graph_cache.h"

#include <assert.h>
#include <string.h>

#include "gateway/graphs/graph_costs.h"
#include "gateway/graphs/graph_import.h"
#include "gateway/sessions/session_options.h"
#include "gateway/store/blobs.h"
#include "gateway/store/graphs.h"
#include "gateway/store/sessions.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { KEY_SIZE = 3 * sizeof(Uuid), SESSION_SWEEP_MIN = 1024 };

struct GraphCache {
    Mutex lock;
    Map *sessions;        /* tenant, session → SessionSnapshot */
    Map *graphs;          /* tenant, session, graph → GraphSnapshot */
    size_t session_sweep; /* as many sessions, and the old ones are looked for */
    GraphCosts costs;     /* of the graphs */
    size_t byte_size_max;
    uint64_t eviction_count;
    GraphEvicted evicted; /* NULL: nobody asks */
    void *context;
};

static Slice
key_of(TenantId tenant, SessionId session, const GraphId *graph, unsigned char key[KEY_SIZE])
{
    memcpy(key, tenant.value.bytes, sizeof(Uuid));
    memcpy(key + sizeof(Uuid), session.value.bytes, sizeof(Uuid));
    if (graph == NULL) {
        return slice_of(key, 2 * sizeof(Uuid));
    }
    memcpy(key + 2 * sizeof(Uuid), graph->value.bytes, sizeof(Uuid));
    return slice_of(key, KEY_SIZE);
}

/* --- Snapshots ------------------------------------------------------------------------------------------ */

void
session_snapshot_unref(void *snapshot)
{
    SessionSnapshot *const session = snapshot;
    if (session != NULL && reference_count_drop(&session->reference_count)) {
        memory_free(session);
    }
}

GraphSnapshot *
graph_snapshot_ref(GraphSnapshot *graph)
{
    reference_count_add(&graph->reference_count);
    return graph;
}

void
graph_snapshot_unref(void *snapshot)
{
    GraphSnapshot *const graph = snapshot;
    if (graph != NULL && reference_count_drop(&graph->reference_count)) {
        graph_unref(graph->graph);
        memory_free(graph);
    }
}

/* --- The cache ------------------------------------------------------------------------------------------ */

GraphCache *
graph_cache_new(size_t byte_size_max)
{
    GraphCache *const cache = memory_new(1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    mutex_init(&cache->lock);
    cache->byte_size_max = byte_size_max;
    cache->session_sweep = SESSION_SWEEP_MIN;
    cache->sessions = map_new();
    cache->graphs = map_new();
    if (!graph_costs_init(&cache->costs) || cache->sessions == NULL || cache->graphs == NULL) {
        graph_cache_free(cache);
        return NULL;
    }
    return cache;
}

static void
map_clear(Map *map, void (*unref)(void *snapshot))
{
    size_t cursor = 0;
    if (map == NULL) {
        return;
    }
    for (const MapEntry *entry = map_next(map, &cursor); entry != NULL; entry = map_next(map, &cursor)) {
        unref(entry->value);
    }
    map_free(map);
}

void
graph_cache_free(GraphCache *cache)
{
    if (cache != NULL) {
        map_clear(cache->sessions, session_snapshot_unref);
        map_clear(cache->graphs, graph_snapshot_unref);
        graph_costs_done(&cache->costs);
        mutex_done(&cache->lock);
        memory_free(cache);
    }
}

SessionSnapshot *
graph_cache_session(GraphCache *cache, TenantId tenant, SessionId id, uint64_t now_ns)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    SessionSnapshot *session = map_get(cache->sessions, key_of(tenant, id, NULL, key));
    if (session != NULL && now_ns > session->fresh_until_ns) {
        session = NULL;
    }
    if (session != NULL) {
        reference_count_add(&session->reference_count);
    }
    mutex_unlock(&cache->lock);
    return session;
}

/* At every doubling: a session costs O(1), and at most as many old ones stay as there are others. */
static void
sweep_sessions(GraphCache *cache, uint64_t now_ns)
{
    size_t cursor = 0;
    if (map_count(cache->sessions) < cache->session_sweep) {
        return;
    }
    for (const MapEntry *entry = map_next(cache->sessions, &cursor); entry != NULL;
         entry = map_next(cache->sessions, &cursor)) {
        SessionSnapshot *const session = entry->value;
        if (now_ns - session->loaded_ns > SESSION_STALE_MS * CLOCK_NS_PER_MS) {
            (void)map_remove(cache->sessions, entry->key);
            session_snapshot_unref(session);
        }
    }
    const size_t doubled = 2 * map_count(cache->sessions);
    cache->session_sweep = doubled > SESSION_SWEEP_MIN ? doubled : SESSION_SWEEP_MIN;
}

void
graph_cache_put_session(GraphCache *cache, SessionSnapshot *session)
{
    unsigned char key[KEY_SIZE];
    const Slice slice = key_of(session->tenant, session->id, NULL, key);
    mutex_lock(&cache->lock);
    sweep_sessions(cache, session->loaded_ns);
    SessionSnapshot *const previous = map_remove(cache->sessions, slice);
    const bool is_kept = map_put(cache->sessions, slice, session);
    mutex_unlock(&cache->lock);
    session_snapshot_unref(previous);
    if (!is_kept) {
        session_snapshot_unref(session);
    }
}

size_t
graph_cache_session_count(GraphCache *cache)
{
    mutex_lock(&cache->lock);
    const size_t count = map_count(cache->sessions);
    mutex_unlock(&cache->lock);
    return count;
}

GraphSnapshot *
graph_cache_graph(GraphCache *cache, TenantId tenant, SessionId session, GraphId id)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    GraphSnapshot *const graph = map_get(cache->graphs, key_of(tenant, session, &id, key));
    if (graph != NULL) {
        graph->used_ns = clock_monotonic_ns();
        reference_count_add(&graph->reference_count);
    }
    mutex_unlock(&cache->lock);
    return graph;
}

void
graph_cache_drop(GraphCache *cache, TenantId tenant, SessionId session)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    SessionSnapshot *const dropped = map_remove(cache->sessions, key_of(tenant, session, NULL, key));
    mutex_unlock(&cache->lock);
    session_snapshot_unref(dropped);
}

/* With the lock held; NULL when it is not there. */
static GraphSnapshot *
take_out(GraphCache *cache, Slice key)
{
    GraphSnapshot *const graph = map_remove(cache->graphs, key);
    if (graph != NULL) {
        graph_costs_remove(&cache->costs, graph->graph);
    }
    return graph;
}

void
graph_cache_drop_graph(GraphCache *cache, TenantId tenant, SessionId session, GraphId id)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    GraphSnapshot *const dropped = take_out(cache, key_of(tenant, session, &id, key));
    mutex_unlock(&cache->lock);
    graph_snapshot_unref(dropped);
}

void
graph_cache_on_evict(GraphCache *cache, GraphEvicted evicted, void *context)
{
    mutex_lock(&cache->lock);
    cache->evicted = evicted;
    cache->context = context;
    mutex_unlock(&cache->lock);
}

GraphCacheStats
graph_cache_stats(GraphCache *cache)
{
    mutex_lock(&cache->lock);
    const GraphCacheStats stats = {
        .byte_size = cache->costs.byte_size,
        .graph_count = map_count(cache->graphs),
        .eviction_count = cache->eviction_count,
    };
    mutex_unlock(&cache->lock);
    return stats;
}

/* With the lock held, as the following. */
static void
evict(GraphCache *cache, Slice key)
{
    GraphSnapshot *const graph = take_out(cache, key);
    cache->eviction_count++;
    if (cache->evicted != NULL) {
        cache->evicted(cache->context, graph);
    }
    graph_snapshot_unref(graph);
}

/* Takes out the least used graphs, but not this one, which fits alone, until all of them fit. */
static void
make_room(GraphCache *cache, const GraphSnapshot *kept)
{
    while (cache->costs.byte_size > cache->byte_size_max) {
        const MapEntry *oldest = NULL;
        size_t cursor = 0;
        for (const MapEntry *entry = map_next(cache->graphs, &cursor); entry != NULL;
             entry = map_next(cache->graphs, &cursor)) {
            const GraphSnapshot *const graph = entry->value;
            if (graph != kept &&
                (oldest == NULL || graph->used_ns < ((const GraphSnapshot *)oldest->value)->used_ns)) {
                oldest = entry;
            }
        }
        assert(oldest != NULL);
        evict(cache, oldest->key);
    }
}

static bool
insert(GraphCache *cache, Slice key, GraphSnapshot *graph)
{
    if (!graph_costs_add(&cache->costs, graph->graph)) {
        return false;
    }
    if (!map_put(cache->graphs, key, graph)) {
        graph_costs_remove(&cache->costs, graph->graph);
        return false;
    }
    return true;
}

/* One that does not fit even alone is not kept, nor are plans made of it before. */
static void
graph_keep(GraphCache *cache, GraphSnapshot *graph)
{
    unsigned char key[KEY_SIZE];
    const Slice slice = key_of(graph->tenant, graph->session, &graph->id, key);
    const bool fits = graph_cost(graph->graph) <= cache->byte_size_max;
    mutex_lock(&cache->lock);
    if (!fits && cache->evicted != NULL) {
        cache->evicted(cache->context, graph);
    }
    if (fits && map_get(cache->graphs, slice) == NULL && insert(cache, slice, graph)) {
        reference_count_add(&graph->reference_count);
        make_room(cache, graph);
    }
    mutex_unlock(&cache->lock);
}

static GraphSnapshot *
graph_snapshot_new(const GraphSnapshot *identity, Graph *graph, size_t source_size)
{
    GraphSnapshot *const snapshot = memory_new(1, sizeof *snapshot);
    if (snapshot != NULL) {
        *snapshot = (GraphSnapshot){
            .reference_count = 1,
            .tenant = identity->tenant,
            .session = identity->session,
            .id = identity->id,
            .graph = graph_ref(graph),
            .source_size = source_size,
            .used_ns = clock_monotonic_ns(),
        };
        id_to_text("grf", identity->id.value, snapshot->id_text);
    }
    return snapshot;
}

void
graph_cache_put(GraphCache *cache, const GraphSnapshot *identity, Graph *graph, size_t source_size)
{
    GraphSnapshot *const snapshot = graph_snapshot_new(identity, graph, source_size);
    if (snapshot != NULL) {
        graph_keep(cache, snapshot);
        graph_snapshot_unref(snapshot);
    }
}

/* --- Loading -------------------------------------------------------------------------------------------- */

/* The id of the session's newest graph; zero when it has none yet. */
static Status
find_newest(Call *call, Store *store, TenantId tenant, SessionId id, GraphId *ret_newest)
{
    StoredGraph newest = {0};
    const Status status = graphs_find_newest(call, store, tenant, id, &newest);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        return status;
    }
    *ret_newest = newest.id;
    return STATUS_OK;
}

Status
graph_cache_load_session(
    Call *call, GraphCache *cache, Store *store, TenantId tenant, SessionId id, SessionSnapshot **ret_session)
{
    Session stored;
    SessionOptions options;
    GraphId newest;
    SessionPlaces places;
    TRY(sessions_find(call, store, tenant, id, &stored));
    TRY(session_options_read(call, slice_from_string(stored.options), &options));
    TRY(find_newest(call, store, tenant, id, &newest));
    TRY(places_list(call, store, tenant, id, &places));
    SessionSnapshot *const session = memory_new(1, sizeof *session + places.count * sizeof *session->places);
    if (session == NULL) {
        return call_fail_memory(call, "a session");
    }
    *session = (SessionSnapshot){
        .reference_count = 2, /* the cache's and the caller's */
        .tenant = tenant,
        .id = id,
        .options = options,
        .newest = newest,
        .loaded_ns = clock_monotonic_ns(),
        .place_count = places.count,
    };
    memcpy(session->places, places.items, places.count * sizeof *session->places);
    session->fresh_until_ns = session->loaded_ns + SESSION_FRESH_MS * CLOCK_NS_PER_MS;
    graph_cache_put_session(cache, session);
    *ret_session = session;
    return STATUS_OK;
}

SessionSnapshot *
graph_cache_stale_session(GraphCache *cache, TenantId tenant, SessionId id)
{
    unsigned char key[KEY_SIZE];
    const uint64_t now_ns = clock_monotonic_ns();
    mutex_lock(&cache->lock);
    SessionSnapshot *session = map_get(cache->sessions, key_of(tenant, id, NULL, key));
    if (session != NULL && now_ns - session->loaded_ns > SESSION_STALE_MS * CLOCK_NS_PER_MS) {
        session = NULL;
    }
    if (session != NULL) {
        session->fresh_until_ns = now_ns + SESSION_RETRY_MS * CLOCK_NS_PER_MS;
        reference_count_add(&session->reference_count);
    }
    mutex_unlock(&cache->lock);
    return session;
}

static void
source_free(TensorBuffer *buffer)
{
    memory_free(buffer->data);
}

/* The bytes of a graph as its author sent them, in a buffer of their own. */
static Status
source_read(Call *call, Store *store, TenantId tenant, const Sha256 *digest, TensorBuffer **ret_source)
{
    AUTO_BUFFER bytes = {0};
    TRY(blobs_read(call, store, tenant, digest, (BlobRange){.size = SIZE_MAX}, &bytes));
    TensorBuffer *const source = tensor_buffer_wrap(bytes.data, bytes.size, source_free, NULL);
    if (source == NULL) {
        return call_fail_memory(call, "a graph's source");
    }
    bytes = (Buffer){0};
    *ret_source = source;
    return STATUS_OK;
}

/* Reads every part; those that were read are the caller's, whatever comes of it. */
static Status
sources_read(Call *call, Store *store, TenantId tenant, const StoredGraph *stored, GraphSource *ret_sources)
{
    const GraphPart *parts = NULL;
    TRY(graphs_parts(call, store, tenant, stored, &parts));
    for (int64_t index = 0; index < stored->version; index++) {
        const Slice media_type = slice_from_string(parts[index].media_type);
        ret_sources[index].format = graph_format_find(media_type, slice_of(NULL, 0));
        TRY(source_read(call, store, tenant, &parts[index].source, &ret_sources[index].bytes));
    }
    return STATUS_OK;
}

/* What was taken once can be run, whatever the limits have become. */
static Status
import_stored(
    Call *call, Store *store, TenantId tenant, const StoredGraph *stored, size_t *ret_size, Graph **ret_graph)
{
    const size_t count = (size_t)stored->version;
    GraphSource *const sources = arena_alloc(call->arena, count * sizeof *sources);
    if (sources == NULL) {
        return call_fail_memory(call, "a graph");
    }
    Status status = sources_read(call, store, tenant, stored, sources);
    if (status == STATUS_OK) {
        status = graph_import_parts(call, sources, count, UINT64_MAX, ret_graph);
    }
    for (size_t index = 0; index < count; index++) {
        *ret_size += sources[index].bytes == NULL ? 0 : sources[index].bytes->size;
        tensor_buffer_unref(sources[index].bytes);
    }
    return status;
}

Status
graph_cache_load_graph(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph)
{
    StoredGraph stored;
    size_t size = 0;
    AUTO_GRAPH graph = NULL;
    TRY(graphs_find(call, store, wanted->tenant, wanted->session, wanted->id, &stored));
    TRY(import_stored(call, store, wanted->tenant, &stored, &size, &graph));
    GraphSnapshot *const snapshot = graph_snapshot_new(wanted, graph, size);
    if (snapshot == NULL) {
        return call_fail_memory(call, "a graph");
    }
    graph_keep(cache, snapshot);
    *ret_graph = snapshot;
    return STATUS_OK;
}

Status
graph_cache_obtain_graph(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph)
{
    GraphSnapshot *graph = graph_cache_graph(cache, wanted->tenant, wanted->session, wanted->id);
    if (graph == NULL) {
        TRY(graph_cache_load_graph(call, cache, store, wanted, &graph));
    }
    if (arena_defer(call->arena, graph_snapshot_unref, graph) == NULL) {
        return call_fail_memory(call, "a graph");
    }
    *ret_graph = graph;
    return STATUS_OK;
}
