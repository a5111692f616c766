/* Visits nodes from the last to the first, so that the readers of a node are in their groups before it. */
#include "shared/graph/fusion.h"

#include <assert.h>

#define READ_OUTSIDE                                                                                         \
    (NODE_NONE - 1) /* read by several groups, by a node that joins none, or by a control                    \
                     * edge */

typedef struct Fusion {
    const FusionRule *rule;
    uint32_t *roots;
    uint32_t *readers; /* by node: the root of the one group that reads it; NODE_NONE for none so far */
    uint32_t *sizes;   /* by root: the number of inputs of its group's nodes */
} Fusion;

static bool
joins_reader(const Fusion *fusion, const Node *node)
{
    uint32_t reader = fusion->readers[node->id];
    const uint32_t *slots = fusion->rule->slots;
    return reader < READ_OUTSIDE && node->control_count == 0 &&
           (slots == NULL || slots[node->id] == slots[reader]) &&
           fusion->sizes[reader] + node->input_count <= FUSION_INPUTS_MAX;
}

static void
note_reader(Fusion *fusion, uint32_t node, uint32_t reader)
{
    uint32_t *known = &fusion->readers[node];
    *known = *known == NODE_NONE || *known == reader ? reader : READ_OUTSIDE;
}

static void
visit_node(Fusion *fusion, const Node *node)
{
    bool may_join = fusion->rule->may_join(fusion->rule->context, node);
    uint32_t root = may_join && joins_reader(fusion, node) ? fusion->readers[node->id] : node->id;
    fusion->roots[node->id] = root;
    fusion->sizes[root] += node->input_count;
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            note_reader(fusion, node->inputs[index].node, may_join ? root : READ_OUTSIDE);
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        note_reader(fusion, node->controls[index], READ_OUTSIDE);
    }
}

Status
graph_find_fusions(Call *call, const Graph *graph, const FusionRule *rule, uint32_t **ret_roots)
{
    assert(rule->may_join != NULL);
    size_t size = (graph->node_count + 1) * sizeof(uint32_t);
    Fusion fusion = {
        .rule = rule,
        .roots = arena_alloc(call->arena, size),
        .readers = arena_alloc(call->arena, size),
        .sizes = arena_alloc(call->arena, size),
    };
    if (fusion.roots == NULL || fusion.readers == NULL || fusion.sizes == NULL) {
        return call_fail_memory(call, "groups of nodes");
    }
    memset(fusion.readers, 0xff, size);
    for (uint32_t left = graph->node_count; left > 0; left--) {
        visit_node(&fusion, &graph->nodes[graph->order[left - 1]]);
    }
    *ret_roots = fusion.roots;
    return STATUS_OK;
}
