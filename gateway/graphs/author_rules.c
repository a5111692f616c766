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

/* Returns true for an op that changes what its first input refers to. */
static bool
writes_reference(const Node *node)
{
    bool reads = node->op == NULL || (node->op->flags & OP_CONTROL_FLOW) != 0 ||
                 slice_equals_string(node->op->name, "RefIdentity") ||
                 slice_equals_string(node->op->name, "IsVariableInitialized");
    return !reads && node->input_count > 0 && node_input_is_reference(node, 0);
}

Status
author_check_constants(Call *call, const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        if (!writes_reference(node) || node->inputs[0].node == NODE_NONE) {
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
