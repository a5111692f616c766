/* The pruned graph made cheaper: what gateway/optimise leaves of it takes its place in the compilation. */
#include "gateway/plan/compile.h"

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

/* Both go with the call's arena from here on. */
static Status
keep_graph(const Compile *compile, const Rewritten *result)
{
    if (arena_defer(compile->call->arena, graph_def_release, result->def) == NULL) {
        graph_def_unref(result->def);
        graph_unref(result->graph);
        return compile_no_memory(compile);
    }
    if (arena_defer(compile->call->arena, graph_release, result->graph) == NULL) {
        graph_unref(result->graph);
        return compile_no_memory(compile);
    }
    return STATUS_OK;
}

/* What is known of each node is known by its new id. */
static Status
carry_over(Compile *compile, const Rewritten *result)
{
    const uint32_t count = result->graph->node_count;
    const Node **const origins = compile_alloc(compile, count, sizeof(const Node *));
    uint32_t *const ports = compile_alloc(compile, count, sizeof *ports);
    bool *const is_target = compile_alloc(compile, count, sizeof *is_target);
    if (origins == NULL || ports == NULL || is_target == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < count; id++) {
        const uint32_t before = result->origins[id];
        origins[id] = compile->origins[before];
        ports[id] = compile->ports[before];
        is_target[id] = compile->is_target[before];
    }
    compile->def = result->def;
    compile->graph = result->graph;
    compile->shapes = result->shapes;
    compile->origins = origins;
    compile->ports = ports;
    compile->is_target = is_target;
    return STATUS_OK;
}

Status
simplify(Compile *compile)
{
    const PassSet without = compile->request->signature->options.passes_off;
    TRY(optimise(
        compile->call, compile->graph, compile->shapes, compile->is_target, without, &compile->optimised));
    if (compile->optimised.result.graph == NULL) {
        return STATUS_OK;
    }
    TRY(keep_graph(compile, &compile->optimised.result));
    return carry_over(compile, &compile->optimised.result);
}
