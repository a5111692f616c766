#include "gateway/plan/compile.h"

#include <assert.h>

#include "shared/ops/registry.h"

void *
compile_alloc(const Compile *compile, size_t count, size_t size)
{
    size_t total = 0;
    assert(size > 0);
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(compile->call->arena, total);
}

static void
map_release(void *map)
{
    map_free(map);
}

Map *
compile_map(const Compile *compile)
{
    Map *map = map_new();
    if (map != NULL && arena_defer(compile->call->arena, map_release, map) == NULL) {
        map_free(map);
        return NULL;
    }
    return map;
}

Status
compile_no_memory(const Compile *compile)
{
    return call_fail_memory(compile->call, "a plan");
}

static void
graph_def_release(void *def)
{
    graph_def_unref(def);
}

static void
graph_release(void *graph)
{
    graph_unref(graph);
}

GraphDef *
compile_keep_def(const Compile *compile, GraphDef *def)
{
    if (def == NULL || arena_defer(compile->call->arena, graph_def_release, def) == NULL) {
        graph_def_unref(def);
        return NULL;
    }
    return def;
}

Graph *
compile_keep_graph(const Compile *compile, Graph *graph)
{
    if (arena_defer(compile->call->arena, graph_release, graph) == NULL) {
        graph_unref(graph);
        return NULL;
    }
    return graph;
}

Status
compile_link(const Compile *compile, GraphDef *def, Graph **ret_graph)
{
    assert(def != NULL);
    GraphLimits limits = {.node_count_max = def->node_count, .allows_internal = true};
    Graph *graph = NULL;
    TRY(graph_link(compile->call, def, op_find, limits, &graph));
    *ret_graph = compile_keep_graph(compile, graph);
    return *ret_graph == NULL ? compile_no_memory(compile) : STATUS_OK;
}

Slice
compile_endpoint_key(const Endpoint *endpoint)
{
    return slice_of(endpoint, sizeof *endpoint);
}

uint32_t
compile_find_feed(const Compile *compile, Endpoint endpoint)
{
    const Endpoint *feed = map_get(compile->feed_map, compile_endpoint_key(&endpoint));
    return feed == NULL ? FEED_NONE : (uint32_t)(feed - compile->feeds);
}
