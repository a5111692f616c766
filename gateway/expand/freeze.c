/* In order:
 *   1. what every output carries: a variable, or not
 *   2. values: assignments of what RestoreV2 gives (freeze_values.c)
 *   3. who uses a variable in another way than to read it, and is needed: it stays one
 *   4. what uses a frozen one in another way goes, with all that depends on it
 *   5. nodes out (freeze_write.c) */
#include "gateway/expand/freezing.h"

enum { DEF_SIZE_MAX = 1 << 30 };

static bool
op_is_among(const Node *node, const char *const *ops, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        if (op_is(node, ops[index])) {
            return true;
        }
    }
    return false;
}

static bool
is_variable(const Node *node)
{
    static const char *const ops[] = {"VarHandleOp", "VariableV2", "Variable"};
    return op_is_among(node, ops, COUNT_OF(ops));
}

/* Hands a handle on. */
static bool
hands_on(const Node *node)
{
    static const char *const ops[] = {"Identity", "Switch", "Enter", "Exit", "NextIteration"};
    return op_is_among(node, ops, COUNT_OF(ops));
}

static void
find_carried(const Freezing *freezing)
{
    const Graph *const graph = freezing->graph;
    for (uint32_t index = 0; index < graph->node_count; index++) {
        const Node *const node = &graph->nodes[graph->order[index]];
        const Node *const variable = hands_on(node) ? variable_at(freezing, node, 0) : NULL;
        if (is_variable(node)) {
            freezing->carried[node->id] = node;
        } else if (variable != NULL && is_handle(variable)) {
            freezing->carried[node->id] = variable;
        }
    }
}

/* --- Uses ----------------------------------------------------------------------------------------------- */

/* ResourceGather without batch dimensions. */
static bool
gathers_rows(const Node *node)
{
    const AttrValue *const batch_dims = node_attr(node, "batch_dims");
    return op_is(node, "ResourceGather") && (batch_dims == NULL || batch_dims->value.i == 0);
}

/* Whether the node may get the value in the place of the variable. */
static bool
only_reads(const Node *node, uint32_t input, const Node *variable)
{
    static const char *const reads[] = {"ReadVariableOp", "ResourceGatherNd", "VariableShape"};
    if (is_handle(variable)) {
        return op_is_among(node, reads, COUNT_OF(reads)) || hands_on(node) || gathers_rows(node);
    }
    return node->op != NULL && (input >= node->op->input_count || !node->op->inputs[input].is_reference);
}

/* The first frozen variable that the node uses otherwise; NULL: none. */
static const Node *
used_variable(const Freezing *freezing, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        const Node *const variable = variable_at(freezing, node, input);
        if (variable != NULL && is_frozen(freezing, variable) && !only_reads(node, input, variable)) {
            return variable;
        }
    }
    return NULL;
}

/* A variable that is written is none that is frozen, so that the node's next one is looked at. Who restores
 * a constant has nothing to do. */
static void
find_writers(Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        const Node *const node = &freezing->graph->nodes[id];
        const bool writes = freezing->needed[id] && !freezing->is_restore[id];
        const Node *variable = writes ? used_variable(freezing, node) : NULL;
        while (variable != NULL) {
            freezing->writers[variable->id] = node;
            freezing->keeps_restores = true;
            variable = used_variable(freezing, node);
        }
    }
}

static bool
changes_constant(const Freezing *freezing, const Node *node)
{
    const bool is_kept = freezing->keeps_restores && freezing->is_restore[node->id];
    return !is_kept && used_variable(freezing, node) != NULL;
}

static bool
depends_on_dropped(const Freezing *freezing, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        const Node *const source = source_of(freezing, node, input);
        if (source != NULL && freezing->is_dropped[source->id]) {
            return true;
        }
    }
    for (uint32_t control = 0; control < node->control_count; control++) {
        if (freezing->is_dropped[node->controls[control]]) {
            return true;
        }
    }
    return false;
}

/* In topological order; what a loop brings back is found in the next turn. */
static void
drop_unneeded(const Freezing *freezing)
{
    const Graph *const graph = freezing->graph;
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (uint32_t index = 0; index < graph->node_count; index++) {
            const Node *const node = &graph->nodes[graph->order[index]];
            if (!freezing->needed[node->id] && !freezing->is_dropped[node->id] &&
                (changes_constant(freezing, node) || depends_on_dropped(freezing, node))) {
                freezing->is_dropped[node->id] = true;
                has_changed = true;
            }
        }
    }
}

/* --- The whole ------------------------------------------------------------------------------------------ */

static Status
mark_needed(const Freezing *freezing)
{
    const Graph *const graph = freezing->graph;
    const size_t count = graph->def->output_count;
    uint32_t *const roots = arena_alloc(freezing->call->arena, count * sizeof *roots);
    if (roots == NULL) {
        return freezing_no_memory(freezing);
    }
    for (size_t index = 0; index < count; index++) {
        Endpoint endpoint;
        TRY(graph_endpoint(freezing->call, graph, graph->def->outputs[index].tensor, &endpoint));
        roots[index] = endpoint.node;
    }
    graph_mark_needed(graph, roots, count, NULL, NULL, freezing->needed);
    return STATUS_OK;
}

static Status
index_checkpoint(const Freezing *freezing, const GraphDef *author)
{
    for (size_t index = 0; index < author->checkpoint_count; index++) {
        GraphTensor *const tensor = arena_alloc(freezing->call->arena, sizeof *tensor);
        if (tensor == NULL || !map_put(freezing->checkpoint, author->checkpoint[index].name, tensor)) {
            return freezing_no_memory(freezing);
        }
        *tensor = author->checkpoint[index];
    }
    return STATUS_OK;
}

static Status
alloc_lists(Freezing *freezing)
{
    Arena *const arena = freezing->call->arena;
    const size_t count = freezing->graph->node_count;
    freezing->needed = arena_alloc(arena, count);
    freezing->is_restore = arena_alloc(arena, count);
    freezing->is_dropped = arena_alloc(arena, count);
    freezing->carried = arena_alloc(arena, count * sizeof(Node *));
    freezing->writers = arena_alloc(arena, count * sizeof(Node *));
    freezing->values = arena_alloc(arena, count * sizeof(Tensor *));
    const bool is_all = freezing->needed != NULL && freezing->is_restore != NULL &&
                        freezing->is_dropped != NULL && freezing->carried != NULL &&
                        freezing->writers != NULL && freezing->values != NULL;
    return is_all ? STATUS_OK : freezing_no_memory(freezing);
}

static Status
begin_result(Freezing *freezing)
{
    GraphDef *const from = freezing->graph->def;
    GraphDef *const def = graph_def_new(DEF_SIZE_MAX);
    if (def == NULL) {
        return freezing_no_memory(freezing);
    }
    freezing->def = def;
    def->origin = graph_def_ref(from);
    def->producer = from->producer;
    def->min_consumer = from->min_consumer;
    def->inputs = from->inputs;
    def->input_count = from->input_count;
    def->outputs = from->outputs;
    def->functions = from->functions;
    def->function_count = from->function_count;
    def->output_count = from->output_count;
    return STATUS_OK;
}

static void
freezing_done(Freezing *freezing)
{
    graph_def_unref(freezing->def);
    map_free(freezing->checkpoint);
}

Status
graph_freeze(Call *call, const Graph *graph, GraphDef **ret_def)
{
    const GraphDef *const author = graph_def_author(graph->def);
    if (author->checkpoint_count == 0 || graph->def->output_count == 0) {
        *ret_def = graph_def_ref(graph->def);
        return STATUS_OK;
    }
    CLEANUP(freezing_done) Freezing freezing = {.call = call, .graph = graph, .checkpoint = map_new()};
    if (freezing.checkpoint == NULL) {
        return freezing_no_memory(&freezing);
    }
    TRY(alloc_lists(&freezing));
    TRY(index_checkpoint(&freezing, author));
    TRY(mark_needed(&freezing));
    find_carried(&freezing);
    TRY(freezing_find_values(&freezing));
    find_writers(&freezing);
    drop_unneeded(&freezing);
    TRY(begin_result(&freezing));
    TRY(freezing_write(&freezing));
    *ret_def = TAKE(freezing.def);
    return STATUS_OK;
}
