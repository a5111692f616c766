/* Foretells which element-wise nodes the workers will compute together, so that a plan can show it. The
 * rule is the workers' own (shared/graph/fusion.h), applied to the nodes of each slot. */
#include <assert.h>

#include "gateway/plan/stages.h"
#include "shared/graph/fusion.h"

/* Returns true for what a worker folds before it runs anything: constants, and nodes of constants alone. */
static bool
is_constant(const Node *node, const bool *known)
{
    unsigned others = OP_STATEFUL | OP_CONTROL_FLOW | OP_SOURCE;
    if (op_is(node, "Const")) {
        return node->control_count == 0;
    }
    bool is_known = node->input_count > 0 && node->control_count == 0 && node->output_count == 1 &&
                    (node->op->flags & others) == 0;
    for (uint32_t index = 0; is_known && index < node->input_count; index++) {
        is_known = node->inputs[index].node != NODE_NONE && known[node->inputs[index].node];
    }
    return is_known;
}

typedef struct Known {
    const Graph *graph;
    bool is_off;     /* the session has switched fusion off */
    bool *constants; /* by node */
} Known;

static bool
may_join(const void *context, const Node *node)
{
    const Known *known = context;
    bool may_join = !known->is_off && (node->op->flags & OP_ELEMENTWISE) != 0 && !known->constants[node->id];
    for (uint32_t index = 0; may_join && index < node->input_count; index++) {
        Endpoint from = node->inputs[index];
        may_join = from.node != NODE_NONE && dtype_is_copyable(node->input_dtypes[index]) &&
                   !node_output_is_reference(&known->graph->nodes[from.node], from.port);
    }
    return may_join;
}

static Status
find_known(const Compile *compile, Known *ret_known)
{
    const Graph *graph = compile->graph;
    PassSet without = compile->request->signature->options.passes_off;
    bool is_folding = !pass_set_has(without, SLICE("constant_folding"));
    *ret_known = (Known){
        .graph = graph,
        .is_off = pass_set_has(without, SLICE("elementwise_fusion")),
        .constants = compile_alloc(compile, graph->node_count, sizeof(bool)),
    };
    if (ret_known->constants == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t position = 0; position < graph->node_count; position++) {
        const Node *node = &graph->nodes[graph->order[position]];
        ret_known->constants[node->id] = is_folding && is_constant(node, ret_known->constants);
    }
    return STATUS_OK;
}

Status
find_fusions(Compile *compile)
{
    Known known;
    assert(compile->slots != NULL);
    TRY(find_known(compile, &known));
    FusionRule rule = {.context = &known, .may_join = may_join, .slots = compile->slots};
    return graph_find_fusions(compile->call, compile->graph, &rule, &compile->fusions);
}
