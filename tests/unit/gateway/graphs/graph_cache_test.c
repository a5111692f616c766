/* The cache without a database: a graph is found by its tenant, session and id until others need its room. */
#include "gateway/graphs/graph_cache.h"
#include "gateway/graphs/graph_costs.h"
#include "gateway/graphs/graph_join.h"

#include <pthread.h>
#include <stdio.h>

#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"

enum { SOURCE_SIZE = 100 };

static Uuid
uuid_of(uint8_t number)
{
    return (Uuid){.bytes = {number}};
}

static GraphSnapshot
identity_of(uint8_t tenant, uint8_t session, uint8_t graph)
{
    return (GraphSnapshot){
        .tenant = {uuid_of(tenant)}, .session = {uuid_of(session)}, .id = {uuid_of(graph)}};
}

static Graph *
graph_of(Call *call)
{
    AUTO_GRAPH_DEF def = graph_literal("x = Placeholder() dtype=float32");
    Graph *graph = NULL;
    assert_non_null(def);
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    return graph;
}

static void
put(GraphCache *cache, GraphSnapshot identity, Graph *graph)
{
    graph_cache_put(cache, &identity, graph, SOURCE_SIZE);
}

/* Puts a new graph under this identity. */
static void
put_new(Call *call, GraphCache *cache, GraphSnapshot identity)
{
    Graph *graph = graph_of(call);
    put(cache, identity, graph);
    graph_unref(graph);
}

static size_t
cost_of(const Graph *graph)
{
    size_t cost = graph_cost(graph);
    assert_true(cost > sizeof(Node)); /* counts the nodes too */
    return cost;
}

static bool
is_cached(GraphCache *cache, GraphSnapshot identity)
{
    GraphSnapshot *found = graph_cache_find(cache, identity.tenant, identity.session, identity.id);
    graph_snapshot_unref(found);
    return found != NULL;
}

static void
a_graph_belongs_to_its_session_and_tenant(void **state)
{
    Graph *graph = graph_of(*state);
    GraphCache *cache = graph_cache_new(cost_of(graph));
    put(cache, identity_of(1, 1, 1), graph);
    GraphSnapshot *found =
        graph_cache_find(cache, (TenantId){uuid_of(1)}, (SessionId){uuid_of(1)}, (GraphId){uuid_of(1)});
    assert_non_null(found);
    assert_ptr_equal(found->graph, graph);
    assert_memory_equal(found->id_text, "grf_", 4);
    graph_snapshot_unref(found);
    assert_false(is_cached(cache, identity_of(2, 1, 1)));
    assert_false(is_cached(cache, identity_of(1, 2, 1)));
    assert_false(is_cached(cache, identity_of(1, 1, 2)));
    graph_unref(graph);
    graph_cache_free(cache);
}

static void
remember(void *context, const GraphSnapshot *graph)
{
    *(GraphId *)context = graph->id;
}

static void
the_least_recently_used_graph_leaves(void **state)
{
    Graph *graph = graph_of(*state);
    GraphCache *cache = graph_cache_new(3 * cost_of(graph));
    GraphId evicted = {0};
    graph_cache_on_evict(cache, remember, &evicted);
    for (uint8_t index = 1; index <= 3; index++) {
        put_new(*state, cache, identity_of(1, 1, index));
    }
    assert_true(is_cached(cache, identity_of(1, 1, 1)));
    put_new(*state, cache, identity_of(1, 1, 4));
    assert_true(is_cached(cache, identity_of(1, 1, 1)));
    assert_false(is_cached(cache, identity_of(1, 1, 2)));
    assert_true(is_cached(cache, identity_of(1, 1, 3)));
    assert_true(is_cached(cache, identity_of(1, 1, 4)));
    assert_true(uuid_equal(evicted.value, uuid_of(2)));
    GraphCacheStats stats = graph_cache_stats(cache);
    assert_int_equal(stats.eviction_count, 1);
    assert_int_equal(stats.graph_count, 3);
    assert_int_equal(stats.byte_size, 3 * cost_of(graph));
    graph_unref(graph);
    graph_cache_free(cache);
}

static void
note_one(void *context, const GraphSnapshot *graph)
{
    (void)graph;
    ++*(int *)context;
}

static void
one_that_is_larger_than_the_cache_drives_nobody_out(void **state)
{
    Call *call = *state;
    Graph *large = NULL;
    Graph *small = graph_of(call);
    AUTO_GRAPH_DEF def = graph_literal(
        "x = Placeholder() dtype=float32\ny = Placeholder() dtype=float32\nz = Placeholder() dtype=float32");
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &large));
    GraphCache *cache = graph_cache_new(cost_of(large) - 1);
    int told = 0;
    graph_cache_on_evict(cache, note_one, &told);
    put(cache, identity_of(1, 1, 1), small);
    put(cache, identity_of(1, 1, 2), large);
    assert_true(is_cached(cache, identity_of(1, 1, 1)));
    assert_false(is_cached(cache, identity_of(1, 1, 2)));
    assert_int_equal(told, 1); /* the cache told that the graph went, so that its plans go too */
    assert_int_equal(graph_cache_stats(cache).eviction_count, 0);
    graph_unref(small);
    graph_unref(large);
    graph_cache_free(cache);
}

/* Returns a version of the graph, made of these parts. */
static Graph *
version_of(Call *call, GraphDef *const *parts, size_t count)
{
    Graph *graph = NULL;
    AUTO_GRAPH_DEF def = NULL;
    assert_status(call, STATUS_OK, graph_join(call, parts, count, &def));
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    return graph;
}

/* Ten versions that share one large part take little more room than that part. */
static void
what_versions_of_a_graph_share_counts_once(void **state)
{
    enum { VERSIONS = 10, NODES = 400, TEXT_SIZE = NODES * 40 };
    static char text[TEXT_SIZE]; /* the literals point into it */
    static char lines[VERSIONS][64];
    GraphDef *parts[VERSIONS];
    size_t used = 0;
    for (int node = 0; node < NODES; node++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "n%d = Placeholder() dtype=float32\n", node);
    }
    parts[0] = graph_literal(text);
    size_t part_size = arena_size(parts[0]->arena);
    GraphCache *cache = graph_cache_new((size_t)1 << 30);
    size_t alone = 0;
    for (uint8_t count = 1; count <= VERSIONS; count++) {
        char *line = lines[count - 1];
        (void)snprintf(line, sizeof lines[0], "v%d = Placeholder() dtype=float32", count);
        parts[count - 1] = count == 1 ? parts[0] : graph_literal(line);
        Graph *graph = version_of(*state, parts, count);
        alone += cost_of(graph);
        put(cache, identity_of(1, 1, count), graph);
        graph_unref(graph);
    }
    size_t together = graph_cache_stats(cache).byte_size;
    assert_true(together <= alone - (VERSIONS - 1) * part_size);
    for (uint8_t count = 1; count <= VERSIONS; count++) {
        graph_cache_drop(cache, (TenantId){uuid_of(1)}, (SessionId){uuid_of(1)}, (GraphId){uuid_of(count)});
        graph_def_unref(parts[count - 1]);
    }
    assert_int_equal(graph_cache_stats(cache).byte_size, 0);
    graph_cache_free(cache);
}

static void
a_snapshot_outlives_the_cache(void **state)
{
    Graph *graph = graph_of(*state);
    GraphCache *cache = graph_cache_new(cost_of(graph));
    put(cache, identity_of(1, 1, 1), graph);
    put(cache, identity_of(1, 1, 1), graph); /* a second time */
    graph_unref(graph);
    GraphSnapshot *found =
        graph_cache_find(cache, (TenantId){uuid_of(1)}, (SessionId){uuid_of(1)}, (GraphId){uuid_of(1)});
    put_new(*state, cache, identity_of(1, 1, 2));
    assert_false(is_cached(cache, identity_of(1, 1, 1)));
    graph_cache_free(cache);
    assert_int_equal(found->source_size, SOURCE_SIZE);
    graph_snapshot_unref(found);
}

/* --- Several threads ------------------------------------------------------------------------------------ */

enum { THREADS = 4, TURNS = 500, GRAPHS = 8 };

static struct Crowd {
    GraphCache *cache;
    Graph *graphs[GRAPHS];
} crowd;

static void *
put_and_find(void *context)
{
    (void)context;
    for (int turn = 0; turn < TURNS; turn++) {
        uint8_t graph = (uint8_t)(turn * 7 % GRAPHS);
        if (!is_cached(crowd.cache, identity_of(1, 1, graph))) {
            put(crowd.cache, identity_of(1, 1, graph), crowd.graphs[graph]);
        }
    }
    return NULL;
}

static void
threads_share_the_cache(void **state)
{
    pthread_t threads[THREADS];
    for (size_t index = 0; index < GRAPHS; index++) {
        crowd.graphs[index] = graph_of(*state);
    }
    crowd.cache = graph_cache_new(GRAPHS / 2 * cost_of(crowd.graphs[0]));
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_create(&threads[index], NULL, put_and_find, NULL), 0);
    }
    for (int index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(threads[index], NULL), 0);
    }
    int count = 0;
    for (uint8_t index = 0; index < GRAPHS; index++) {
        count += is_cached(crowd.cache, identity_of(1, 1, index)) ? 1 : 0;
        graph_unref(crowd.graphs[index]);
    }
    assert_int_equal(count, GRAPHS / 2);
    graph_cache_free(crowd.cache);
}

static void
without_memory_nothing_is_kept(void **state)
{
    Graph *graph = graph_of(*state);
    for (size_t at = 1; at < 16; at++) {
        fail_alloc_count = 0;
        fail_alloc_at = at;
        GraphCache *cache = graph_cache_new(cost_of(graph));
        if (cache != NULL) {
            put(cache, identity_of(1, 1, 1), graph);
        }
        fail_alloc_at = 0;
        graph_cache_free(cache);
    }
    graph_unref(graph);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_graph_belongs_to_its_session_and_tenant),
        CALL_TEST(the_least_recently_used_graph_leaves),
        CALL_TEST(one_that_is_larger_than_the_cache_drives_nobody_out),
        CALL_TEST(what_versions_of_a_graph_share_counts_once),
        CALL_TEST(a_snapshot_outlives_the_cache),
        CALL_TEST(threads_share_the_cache),
        CALL_TEST(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("graphs/graph_cache", tests, NULL, NULL);
}
