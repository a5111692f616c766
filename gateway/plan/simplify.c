/* Makes the pruned graph cheaper: the result of gateway/optimise replaces it. */
#include <assert.h>

#include "gateway/plan/stages.h"

/* Both live as long as the call from here on. */
static Status
keep_result(const Compile *compile, const Rewritten *result)
{
    if (compile_keep_def(compile, result->def) == NULL) {
        graph_unref(result->graph);
        return compile_no_memory(compile);
    }
    return compile_keep_graph(compile, result->graph) == NULL ? compile_no_memory(compile) : STATUS_OK;
}

/* Moves what is known of each node to its new id. */
static Status
carry_over(Compile *compile, const Rewritten *result)
{
    uint32_t count = result->graph->node_count;
    const Node **origins = compile_alloc(compile, count, sizeof(const Node *));
    uint32_t *ports = compile_alloc(compile, count, sizeof *ports);
    bool *is_target = compile_alloc(compile, count, sizeof *is_target);
    if (origins == NULL || ports == NULL || is_target == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < count; id++) {
        uint32_t before = result->origins[id];
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
simplify_graph(Compile *compile)
{
    PassSet without = compile->request->signature->options.passes_off;
    assert(compile->graph != NULL && compile->shapes != NULL && compile->is_target != NULL);
    TRY(optimise(
        compile->call, compile->graph, compile->shapes, compile->is_target, without, &compile->optimised));
    const Rewritten *result = &compile->optimised.result;
    if (result->graph == NULL) {
        return STATUS_OK;
    }
    TRY(keep_result(compile, result));
    return carry_over(compile, result);
}
