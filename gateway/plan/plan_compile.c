/* Compiling, stage by stage. A stage that fails ends it; its error names the feed, fetch, target or node. */
#include <assert.h>

#include "gateway/plan/partition.h"
#include "gateway/plan/stages.h"

/* A step with such a node must not run twice unasked. State that ends with the step does not count. */
static bool
has_lasting_state(const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        unsigned flags = graph->nodes[id].op->flags;
        if ((flags & OP_STATEFUL) != 0 && (flags & OP_STEP_LOCAL) == 0) {
            return true;
        }
    }
    return false;
}

Status
plan_compile(Call *call, const PlanRequest *request, Plan **ret_plan)
{
    assert(call->arena != NULL && request->graph != NULL && request->signature != NULL);
    Compile compile = {.call = call, .request = request, .source = request->graph};
    TRY(find_jobs(&compile));
    TRY(resolve_names(&compile));
    TRY(check_feeds(&compile));
    TRY(prune_graph(&compile));
    TRY(infer_shapes(&compile));
    TRY(simplify_graph(&compile));
    compile.is_pure = !has_lasting_state(compile.graph);
    TRY(outline_branches(&compile));
    TRY(find_loops(&compile));
    TRY(assign_slots(&compile));
    TRY(ask_devices(&compile));
    TRY(find_growth(&compile));
    TRY(find_fusions(&compile));
    CLEANUP(partitioning_done) Partitioning partitioning = {.compile = &compile};
    TRY(partition_graph(&partitioning));
    return seal_plan(&partitioning, ret_plan);
}
