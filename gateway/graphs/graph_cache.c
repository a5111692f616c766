#include "gateway/graphs/graph_cache.h"

#include <assert.h>
#include <string.h>

#include "gateway/graphs/graph_costs.h"
#include "gateway/graphs/graph_import.h"
#include "gateway/store/blobs.h"
#include "gateway/store/graphs.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { KEY_SIZE = 3 * sizeof(Uuid) };

struct GraphCache {
    Mutex lock;
    Map *graphs;      /* tenant, session, graph → GraphSnapshot */
    GraphCosts costs; /* of all graphs here */
    size_t byte_size_max;
    uint64_t eviction_count;
    GraphEvicted evicted; /* NULL: there is no listener */
    void *context;
};

static Slice
key_of(TenantId tenant, SessionId session, GraphId graph, unsigned char key[KEY_SIZE])
{
    memcpy(key, tenant.value.bytes, sizeof(Uuid));
    memcpy(key + sizeof(Uuid), session.value.bytes, sizeof(Uuid));
    memcpy(key + 2 * sizeof(Uuid), graph.value.bytes, sizeof(Uuid));
    return slice_of(key, KEY_SIZE);
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
    GraphSnapshot *graph = snapshot;
    if (graph != NULL && reference_count_drop(&graph->reference_count)) {
        graph_unref(graph->graph);
        memory_free(graph);
    }
}

GraphCache *
graph_cache_new(size_t byte_size_max)
{
    GraphCache *cache = memory_new(1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    mutex_init(&cache->lock);
    cache->byte_size_max = byte_size_max;
    cache->graphs = map_new();
    if (!graph_costs_init(&cache->costs) || cache->graphs == NULL) {
        graph_cache_free(cache);
        return NULL;
    }
    return cache;
}

void
graph_cache_free(GraphCache *cache)
{
    size_t cursor = 0;
    if (cache == NULL) {
        return;
    }
    for (const MapEntry *entry = cache->graphs == NULL ? NULL : map_next(cache->graphs, &cursor);
         entry != NULL; entry = map_next(cache->graphs, &cursor)) {
        graph_snapshot_unref(entry->value);
    }
    map_free(cache->graphs);
    graph_costs_done(&cache->costs);
    mutex_done(&cache->lock);
    memory_free(cache);
}

GraphSnapshot *
graph_cache_find(GraphCache *cache, TenantId tenant, SessionId session, GraphId id)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    GraphSnapshot *graph = map_get(cache->graphs, key_of(tenant, session, id, key));
    if (graph != NULL) {
        graph->used_ns = clock_monotonic_ns();
        reference_count_add(&graph->reference_count);
    }
    mutex_unlock(&cache->lock);
    return graph;
}

/* Removes a graph from the cache, whose lock is held; the caller gets the reference. NULL when it is not
 * there. */
static GraphSnapshot *
take_out_graph(GraphCache *cache, Slice key)
{
    GraphSnapshot *graph = map_remove(cache->graphs, key);
    if (graph != NULL) {
        graph_costs_remove(&cache->costs, graph->graph);
    }
    return graph;
}

void
graph_cache_drop(GraphCache *cache, TenantId tenant, SessionId session, GraphId id)
{
    unsigned char key[KEY_SIZE];
    mutex_lock(&cache->lock);
    GraphSnapshot *dropped = take_out_graph(cache, key_of(tenant, session, id, key));
    mutex_unlock(&cache->lock);
    graph_snapshot_unref(dropped);
}

bool
graph_cache_drop_any(GraphCache *cache, TenantId tenant, SessionId session, GraphId *ret_graph)
{
    unsigned char key[KEY_SIZE];
    GraphSnapshot *dropped = NULL;
    size_t cursor = 0;
    Slice of_session = slice_part(key_of(tenant, session, (GraphId){0}, key), 0, 2 * sizeof(Uuid));
    mutex_lock(&cache->lock);
    for (const MapEntry *entry = map_next(cache->graphs, &cursor); entry != NULL && dropped == NULL;
         entry = map_next(cache->graphs, &cursor)) {
        if (slice_starts_with(entry->key, of_session)) {
            dropped = take_out_graph(cache, entry->key);
        }
    }
    mutex_unlock(&cache->lock);
    if (dropped != NULL) {
        *ret_graph = dropped->id;
    }
    graph_snapshot_unref(dropped);
    return dropped != NULL;
}

void
graph_cache_on_evict(GraphCache *cache, GraphEvicted evicted, void *context)
{
    assert(evicted == NULL || cache->evicted == NULL);

    mutex_lock(&cache->lock);
    cache->evicted = evicted;
    cache->context = context;
    mutex_unlock(&cache->lock);
}

GraphCacheStats
graph_cache_stats(GraphCache *cache)
{
    mutex_lock(&cache->lock);
    GraphCacheStats stats = {
        .byte_size = cache->costs.byte_size,
        .graph_count = map_count(cache->graphs),
        .eviction_count = cache->eviction_count,
    };
    mutex_unlock(&cache->lock);
    return stats;
}

/* Removes a graph for lack of room and tells the listener. The lock is held. */
static void
evict_graph(GraphCache *cache, Slice key)
{
    GraphSnapshot *graph = take_out_graph(cache, key);
    cache->eviction_count++;
    if (cache->evicted != NULL) {
        cache->evicted(cache->context, graph);
    }
    graph_snapshot_unref(graph);
}

/* Evicts the least recently used graphs until the rest fits. `kept` stays: it fits alone. The lock is
 * held. */
static void
make_room(GraphCache *cache, const GraphSnapshot *kept)
{
    while (cache->costs.byte_size > cache->byte_size_max) {
        const MapEntry *oldest = NULL;
        size_t cursor = 0;
        for (const MapEntry *entry = map_next(cache->graphs, &cursor); entry != NULL;
             entry = map_next(cache->graphs, &cursor)) {
            const GraphSnapshot *graph = entry->value;
            if (graph != kept &&
                (oldest == NULL || graph->used_ns < ((const GraphSnapshot *)oldest->value)->used_ns)) {
                oldest = entry;
            }
        }
        assert(oldest != NULL);
        evict_graph(cache, oldest->key);
    }
}

static bool
insert_graph(GraphCache *cache, Slice key, GraphSnapshot *graph)
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

/* Keeps a graph unless it is too large even alone; then plans made of it before go too. */
static void
graph_keep(GraphCache *cache, GraphSnapshot *graph)
{
    unsigned char key[KEY_SIZE];
    Slice slice = key_of(graph->tenant, graph->session, graph->id, key);
    bool fits = graph_cost(graph->graph) <= cache->byte_size_max;
    mutex_lock(&cache->lock);
    if (!fits && cache->evicted != NULL) {
        cache->evicted(cache->context, graph);
    }
    if (fits && map_get(cache->graphs, slice) == NULL && insert_graph(cache, slice, graph)) {
        reference_count_add(&graph->reference_count);
        make_room(cache, graph);
    }
    mutex_unlock(&cache->lock);
}

static GraphSnapshot *
graph_snapshot_new(const GraphSnapshot *identity, Graph *graph, size_t source_size)
{
    GraphSnapshot *snapshot = memory_new(1, sizeof *snapshot);
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
    assert(graph != NULL);

    GraphSnapshot *snapshot = graph_snapshot_new(identity, graph, source_size);
    if (snapshot != NULL) {
        graph_keep(cache, snapshot);
        graph_snapshot_unref(snapshot);
    }
}

static void
source_free(TensorBuffer *buffer)
{
    memory_free(buffer->data);
}

/* Reads the bytes of a graph as its author sent them, into a buffer that the graph can hold on to. */
static Status
source_read(Call *call, Store *store, TenantId tenant, const Sha256 *digest, TensorBuffer **ret_source)
{
    AUTO_BUFFER bytes = {0};
    TRY(blobs_read(call, store, tenant, digest, (BlobRange){.size = SIZE_MAX}, &bytes));
    TensorBuffer *source = tensor_buffer_wrap(bytes.data, bytes.size, source_free, NULL);
    if (source == NULL) {
        return call_fail_memory(call, "a graph's source");
    }
    bytes = (Buffer){0};
    *ret_source = source;
    return STATUS_OK;
}

/* Reads every part. The parts read so far are the caller's also when one fails. */
static Status
sources_read(Call *call, Store *store, TenantId tenant, const StoredGraph *stored, GraphSource *ret_sources)
{
    const GraphPart *parts = NULL;
    TRY(graphs_parts(call, store, tenant, stored, &parts));
    for (int64_t index = 0; index < stored->version; index++) {
        Slice media_type = slice_from_string(parts[index].media_type);
        ret_sources[index].format = graph_format_find(media_type, slice_of(NULL, 0));
        TRY(source_read(call, store, tenant, &parts[index].source, &ret_sources[index].bytes));
    }
    return STATUS_OK;
}

/* Imports a stored graph without the limit of nodes: a graph that was accepted once can be run after the
 * limit was lowered. */
static Status
import_stored(
    Call *call, Store *store, TenantId tenant, const StoredGraph *stored, size_t *ret_size, Graph **ret_graph)
{
    size_t count = (size_t)stored->version;
    GraphSource *sources = arena_alloc(call->arena, count * sizeof *sources);
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
graph_cache_load(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph)
{
    assert(wanted != NULL);

    StoredGraph stored;
    size_t size = 0;
    AUTO_GRAPH graph = NULL;
    TRY(graphs_find(call, store, wanted->tenant, wanted->session, wanted->id, &stored));
    TRY(import_stored(call, store, wanted->tenant, &stored, &size, &graph));
    GraphSnapshot *snapshot = graph_snapshot_new(wanted, graph, size);
    if (snapshot == NULL) {
        return call_fail_memory(call, "a graph");
    }
    graph_keep(cache, snapshot);
    *ret_graph = snapshot;
    return STATUS_OK;
}

Status
graph_cache_obtain(
    Call *call, GraphCache *cache, Store *store, const GraphSnapshot *wanted, GraphSnapshot **ret_graph)
{
    GraphSnapshot *graph = graph_cache_find(cache, wanted->tenant, wanted->session, wanted->id);
    if (graph == NULL) {
        TRY(graph_cache_load(call, cache, store, wanted, &graph));
    }
    if (arena_defer(call->arena, graph_snapshot_unref, graph) == NULL) {
        return call_fail_memory(call, "a graph");
    }
    *ret_graph = graph;
    return STATUS_OK;
}
