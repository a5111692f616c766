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

static bool
is_scatter(const Node *node)
{
    return node->op != NULL && slice_starts_with(node->op->name, SLICE("Scatter"));
}

/* Returns true for an op that takes a reference and leaves what it refers to as it is. */
static bool
only_reads(const Node *node)
{
    return (node->op->flags & OP_CONTROL_FLOW) != 0 || slice_equals_string(node->op->name, "RefIdentity") ||
           slice_equals_string(node->op->name, "IsVariableInitialized");
}

/* The constants that references lead to, by node. */
typedef struct References {
    const Graph *graph;
    uint32_t *constants; /* the constant that the node's outputs refer to, or NODE_NONE */
    bool *is_read;       /* another node reads an output of it */
    bool *is_misread;    /* one of those does not scatter into it */
} References;

/* Returns the constant that an input refers to, or NODE_NONE. */
static uint32_t
referred_constant(const References *references, const Node *node, uint32_t input)
{
    uint32_t source = node->inputs[input].node;
    uint32_t constant = source == NODE_NONE ? NODE_NONE : references->constants[source];
    return constant != NODE_NONE && node_input_is_reference(node, input) ? constant : NODE_NONE;
}

/* Notes what the node's outputs refer to, once its inputs are known. */
static void
note_constant(const References *references, const Node *node)
{
    uint32_t found = slice_equals_string(node->def->op, "Const") ? node->id : NODE_NONE;
    bool gives_reference = node->output_count > 0 && node_output_is_reference(node, 0);
    for (uint32_t input = 0; gives_reference && found == NODE_NONE && input < node->input_count; input++) {
        found = referred_constant(references, node, input);
    }
    references->constants[node->id] = found;
}

static void
note_readers(const References *references, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        uint32_t source = node->inputs[input].node;
        if (source != NODE_NONE) {
            references->is_read[source] = true;
            references->is_misread[source] |= input != 0 || !is_scatter(node);
        }
    }
}

/* Returns NODE_NONE for each node that is not reached yet, as the edge back of a loop is: the edge into the
 * loop tells the same. */
static Status
find_references(Call *call, const Graph *graph, References *ret_references)
{
    size_t count = graph->node_count + 1;
    References references = {
        .graph = graph,
        .constants = arena_alloc(call->arena, count * sizeof(uint32_t)),
        .is_read = arena_alloc(call->arena, count),
        .is_misread = arena_alloc(call->arena, count),
    };
    if (references.constants == NULL || references.is_read == NULL || references.is_misread == NULL) {
        return call_fail_memory(call, "the check of a graph's constants");
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        references.constants[id] = NODE_NONE;
    }
    for (uint32_t index = 0; index < graph->node_count; index++) {
        const Node *node = &graph->nodes[graph->order[index]];
        note_constant(&references, node);
        note_readers(&references, node);
    }
    *ret_references = references;
    return STATUS_OK;
}

/* Returns true for what TensorFlow's freezing leaves where a variable was filled and scattered into: a
 * scatter, and an Assign that only scatters read. */
static bool
was_frozen(const References *references, const Node *node)
{
    bool fills = slice_equals_string(node->op->name, "Assign") && references->is_read[node->id] &&
                 !references->is_misread[node->id];
    return fills || is_scatter(node);
}

static Status
check_changes(Call *call, const References *references, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        uint32_t constant = referred_constant(references, node, input);
        if (constant != NODE_NONE) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "node '%.*s': op '%.*s' cannot change constant '%.*s': its input %u must refer to a variable",
                SLICE_PRINT(slice_part(node->name, 0, 128)), SLICE_PRINT(node->op->name),
                SLICE_PRINT(slice_part(references->graph->nodes[constant].name, 0, 128)), input);
        }
    }
    return STATUS_OK;
}

Status
author_check_constants(Call *call, const Graph *graph)
{
    References references;
    TRY(find_references(call, graph, &references));
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        if (node->op != NULL && !only_reads(node) && !was_frozen(&references, node)) {
            TRY(check_changes(call, &references, node));
        }
    }
    return STATUS_OK;
}
