#include "gateway/graphs/author_rules.h"

#include "shared/ops/registry.h"

static Status
check_nodes(Call *call, const NodeDef *nodes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        const Op *op = op_find(nodes[index].op);
        if (op != NULL && (op->flags & OP_INTERNAL) != 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "node '%.*s': op '%.*s' is Sluice's own",
                SLICE_PRINT(slice_part(nodes[index].name, 0, 128)), SLICE_PRINT(op->name));
        }
    }
    return STATUS_OK;
}

Status
author_check_ops(Call *call, const GraphDef *def)
{
    TRY(check_nodes(call, def->nodes, def->node_count));
    for (size_t index = 0; index < def->function_count; index++) {
        TRY(check_nodes(call, def->functions[index].nodes, def->functions[index].node_count));
    }
    return STATUS_OK;
}

/* Returns true for an op that changes what its first input refers to, and whose author means just that.
 * Graphs that were frozen keep scatters behind a constant that was a variable, and fetch what they give. */
static bool
assigns(const Node *node)
{
    bool only_reads = node->op == NULL || (node->op->flags & OP_CONTROL_FLOW) != 0 ||
                      slice_equals_string(node->op->name, "RefIdentity") ||
                      slice_equals_string(node->op->name, "IsVariableInitialized");
    return !only_reads && !slice_starts_with(node->op->name, SLICE("Scatter")) && node->input_count > 0 &&
           node_input_is_reference(node, 0);
}

/* Returns which nodes have an output that another one reads; NULL without memory. */
static bool *
find_read_nodes(Arena *arena, const Graph *graph)
{
    bool *is_read = arena_alloc(arena, graph->node_count + 1);
    for (uint32_t id = 0; is_read != NULL && id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        for (uint32_t index = 0; index < node->input_count; index++) {
            if (node->inputs[index].node != NODE_NONE) {
                is_read[node->inputs[index].node] = true;
            }
        }
    }
    return is_read;
}

Status
author_check_constants(Call *call, const Graph *graph)
{
    const bool *is_read = find_read_nodes(call->arena, graph);
    if (is_read == NULL) {
        return call_fail_memory(call, "the check of a graph's constants");
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        if (is_read[id] || !assigns(node) || node->inputs[0].node == NODE_NONE) {
            continue;
        }
        const Node *target = &graph->nodes[node->inputs[0].node];
        if (slice_equals_string(target->def->op, "Const")) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "node '%.*s': op '%.*s' cannot change constant '%.*s'",
                SLICE_PRINT(slice_part(node->name, 0, 128)), SLICE_PRINT(node->op->name),
                SLICE_PRINT(slice_part(target->name, 0, 128)));
        }
    }
    return STATUS_OK;
}
