/* In order:
 *   1. what every output carries: a variable, or not
 *   2. values: assignments of what RestoreV2 gives
 *   3. who uses a variable in another way than to read it, and is needed: it stays one
 *   4. what uses a frozen one in another way goes, with all that depends on it
 *   5. nodes out */
#include "gateway/expand/freeze.h"

#include "shared/base/buffer.h"
#include "shared/base/text.h"

enum { DEF_SIZE_MAX = 1 << 30 };

typedef struct Freezing {
    Call *call;
    const Graph *graph;
    GraphDef *def;
    bool *needed;          /* by a signature, of each node */
    const Node **carried;  /* of each node: the variable that its outputs stand for, or NULL */
    const Tensor **values; /* of each variable, by its node's id */
    const Node **writers;  /* … who keeps it from being frozen */
    bool *is_dropped;
    Map *checkpoint; /* name → GraphTensor */
} Freezing;

static bool
op_is(const Node *node, const char *op)
{
    return slice_equals_string(node->def->op, op);
}

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

static bool
is_handle(const Node *variable)
{
    return op_is(variable, "VarHandleOp");
}

/* Hands a handle on. */
static bool
hands_on(const Node *node)
{
    static const char *const ops[] = {"Identity", "Switch", "Enter", "Exit", "NextIteration"};
    return op_is_among(node, ops, COUNT_OF(ops));
}

static const Node *
source_of(const Freezing *freezing, const Node *node, uint32_t input)
{
    const bool is_there = input < node->input_count && node->inputs[input].node != NODE_NONE;
    return is_there ? &freezing->graph->nodes[node->inputs[input].node] : NULL;
}

static const Node *
variable_at(const Freezing *freezing, const Node *node, uint32_t input)
{
    const Node *const source = source_of(freezing, node, input);
    return source == NULL ? NULL : freezing->carried[source->id];
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

/* --- Values --------------------------------------------------------------------------------------------- */

static const Node *
behind_identities(const Freezing *freezing, const Node *node, uint32_t input, uint32_t *ret_port)
{
    const Node *source = source_of(freezing, node, input);
    *ret_port = source == NULL ? 0 : node->inputs[input].port;
    while (source != NULL && op_is(source, "Identity")) {
        *ret_port = source->inputs[0].port;
        source = source_of(freezing, source, 0);
    }
    return source;
}

/* What the node assigns, when it comes out of the checkpoint. */
static const GraphTensor *
restored_value(const Freezing *freezing, const Node *node)
{
    uint32_t port = 0;
    uint32_t ignored = 0;
    const Node *const restore = behind_identities(freezing, node, 1, &port);
    if (restore == NULL || !op_is(restore, "RestoreV2")) {
        return NULL;
    }
    const Node *const names = behind_identities(freezing, restore, 1, &ignored);
    if (names == NULL || !op_is(names, "Const")) {
        return NULL;
    }
    const AttrValue *const value = node_attr(names, "value");
    const bool has_name = value != NULL && value->kind == ATTR_TENSOR && !value->is_list &&
                          value->value.tensor.dtype == DTYPE_STRING &&
                          port < tensor_element_count(&value->value.tensor);
    return has_name ? map_get(freezing->checkpoint, ((const Slice *)value->value.tensor.data)[port]) : NULL;
}

static Dtype
variable_dtype(const Node *variable)
{
    const AttrValue *const dtype = node_attr(variable, "dtype");
    return dtype != NULL && dtype->kind == ATTR_TYPE ? dtype->value.type : DTYPE_INVALID;
}

static Status
find_values(const Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        const Node *const node = &freezing->graph->nodes[id];
        const bool assigns = op_is(node, "AssignVariableOp") || op_is(node, "Assign");
        const Node *const variable = assigns ? variable_at(freezing, node, 0) : NULL;
        const GraphTensor *const value = variable == NULL ? NULL : restored_value(freezing, node);
        if (value == NULL) {
            continue;
        }
        if (value->tensor.dtype != variable_dtype(variable)) {
            return call_fail(freezing->call, STATUS_INVALID_ARGUMENT,
                "variable '%.*s' is %s, tensor '%.*s' of the checkpoint is %s", SLICE_PRINT(variable->name),
                dtype_name(variable_dtype(variable)), SLICE_PRINT(value->name),
                dtype_name(value->tensor.dtype));
        }
        freezing->values[variable->id] = &value->tensor;
    }
    return STATUS_OK;
}

/* --- Uses ----------------------------------------------------------------------------------------------- */

/* Whether the node may get the value in the place of the variable. */
static bool
only_reads(const Node *node, uint32_t input, const Node *variable)
{
    if (is_handle(variable)) {
        return op_is(node, "ReadVariableOp") || hands_on(node);
    }
    return node->op != NULL && (input >= node->op->input_count || !node->op->inputs[input].is_reference);
}

/* The first variable that the node uses otherwise; NULL: none. */
static const Node *
used_variable(const Freezing *freezing, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        const Node *const variable = variable_at(freezing, node, input);
        if (variable != NULL && freezing->values[variable->id] != NULL &&
            !only_reads(node, input, variable)) {
            return variable;
        }
    }
    return NULL;
}

/* A variable that is written gets no value, so that the node's next one is looked at. */
static void
find_writers(const Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        const Node *const node = &freezing->graph->nodes[id];
        const Node *variable = freezing->needed[id] ? used_variable(freezing, node) : NULL;
        while (variable != NULL) {
            freezing->writers[variable->id] = node;
            freezing->values[variable->id] = NULL;
            variable = used_variable(freezing, node);
        }
    }
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
                (used_variable(freezing, node) != NULL || depends_on_dropped(freezing, node))) {
                freezing->is_dropped[node->id] = true;
                has_changed = true;
            }
        }
    }
}

/* --- Nodes out ------------------------------------------------------------------------------------------ */

static Status
no_memory(const Freezing *freezing)
{
    return call_fail_memory(freezing->call, "a graph without variables");
}

static Status
set_attrs(const Freezing *freezing, NodeDef *def, const Attr *attrs, size_t count)
{
    Attr *const copy = arena_alloc(freezing->def->arena, count * sizeof *copy);
    if (copy == NULL) {
        return no_memory(freezing);
    }
    memcpy(copy, attrs, count * sizeof *copy);
    def->attrs = copy;
    def->attr_count = count;
    return STATUS_OK;
}

static Status
write_constant(const Freezing *freezing, const Node *variable, NodeDef *def)
{
    const Tensor *const value = freezing->values[variable->id];
    const Attr attrs[] = {
        {.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = value->dtype}},
        {.name = SLICE("value"), .value = {.kind = ATTR_TENSOR, .value.tensor = *value}},
    };
    def->op = SLICE("Const");
    return set_attrs(freezing, def, attrs, COUNT_OF(attrs));
}

/* An Identity, Switch, … of a handle becomes one of the value; so does a read. */
static Status
write_value(const Freezing *freezing, const Node *node, Dtype dtype, NodeDef *def)
{
    Attr attrs[4] = {{.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = dtype}}};
    static const char *const kept[] = {"frame_name", "is_constant", "parallel_iterations"};
    size_t count = 1;
    if (op_is(node, "ReadVariableOp")) {
        def->op = SLICE("Identity");
    }
    for (size_t index = 0; index < COUNT_OF(kept) && op_is(node, "Enter"); index++) {
        const AttrValue *const value = node_attr(node, kept[index]);
        if (value != NULL) {
            attrs[count++] = (Attr){.name = slice_from_string(kept[index]), .value = *value};
        }
    }
    return set_attrs(freezing, def, attrs, count);
}

static Status
write_node(const Freezing *freezing, const Node *node, NodeDef *def)
{
    const Node *const own = freezing->carried[node->id];
    const Node *const read = op_is(node, "ReadVariableOp") ? variable_at(freezing, node, 0) : NULL;
    *def = *node->def;
    if (own == node && freezing->values[node->id] != NULL) {
        return write_constant(freezing, node, def);
    }
    const Node *const variable = own != NULL ? own : read;
    const Tensor *const value = variable == NULL ? NULL : freezing->values[variable->id];
    return value == NULL || !is_handle(variable) ? STATUS_OK : write_value(freezing, node, value->dtype, def);
}

static Status
write_nodes(const Freezing *freezing)
{
    const Graph *const graph = freezing->graph;
    NodeDef *const nodes = arena_alloc(freezing->def->arena, graph->node_count * sizeof *nodes);
    if (nodes == NULL) {
        return no_memory(freezing);
    }
    size_t count = 0;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (!freezing->is_dropped[id]) {
            TRY(write_node(freezing, &graph->nodes[id], &nodes[count++]));
        }
    }
    freezing->def->nodes = nodes;
    freezing->def->node_count = count;
    return STATUS_OK;
}

static const char *
warning_of(const Freezing *freezing, const Node *variable)
{
    Arena *const arena = freezing->def->arena;
    const Node *const writer = freezing->writers[variable->id];
    if (writer == NULL) {
        return text_format(arena, "variable '%.*s' is a constant: its value in the checkpoint",
            SLICE_PRINT(slice_part(variable->name, 0, 128)));
    }
    return text_format(arena,
        "variable '%.*s' is assigned to by node '%.*s'; its value in the checkpoint is not used",
        SLICE_PRINT(slice_part(variable->name, 0, 128)), SLICE_PRINT(slice_part(writer->name, 0, 128)));
}

static Status
write_warnings(const Freezing *freezing)
{
    const Graph *const graph = freezing->graph;
    const GraphDef *const from = graph->def;
    const char **const warnings =
        arena_alloc(freezing->def->arena, (from->warning_count + graph->node_count) * sizeof *warnings);
    if (warnings == NULL) {
        return no_memory(freezing);
    }
    size_t count = 0;
    for (; count < from->warning_count; count++) {
        warnings[count] = from->warnings[count];
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (freezing->values[id] != NULL || freezing->writers[id] != NULL) {
            warnings[count] = warning_of(freezing, &graph->nodes[id]);
            if (warnings[count++] == NULL) {
                return no_memory(freezing);
            }
        }
    }
    freezing->def->warnings = warnings;
    freezing->def->warning_count = count;
    return STATUS_OK;
}

/* --- The whole ------------------------------------------------------------------------------------------ */

static Status
mark_needed(const Freezing *freezing)
{
    const Graph *const graph = freezing->graph;
    const size_t count = graph->def->output_count;
    uint32_t *const roots = arena_alloc(freezing->call->arena, count * sizeof *roots);
    if (roots == NULL) {
        return no_memory(freezing);
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
            return no_memory(freezing);
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
    freezing->is_dropped = arena_alloc(arena, count);
    freezing->carried = arena_alloc(arena, count * sizeof(Node *));
    freezing->writers = arena_alloc(arena, count * sizeof(Node *));
    freezing->values = arena_alloc(arena, count * sizeof(Tensor *));
    const bool is_all = freezing->needed != NULL && freezing->is_dropped != NULL &&
                        freezing->carried != NULL && freezing->writers != NULL && freezing->values != NULL;
    return is_all ? STATUS_OK : no_memory(freezing);
}

static Status
begin_result(Freezing *freezing)
{
    GraphDef *const from = freezing->graph->def;
    GraphDef *const def = graph_def_new(DEF_SIZE_MAX);
    if (def == NULL) {
        return no_memory(freezing);
    }
    freezing->def = def;
    def->origin = graph_def_ref(from);
    def->producer = from->producer;
    def->min_consumer = from->min_consumer;
    def->inputs = from->inputs;
    def->input_count = from->input_count;
    def->outputs = from->outputs;
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
        return no_memory(&freezing);
    }
    TRY(alloc_lists(&freezing));
    TRY(index_checkpoint(&freezing, author));
    TRY(mark_needed(&freezing));
    find_carried(&freezing);
    TRY(find_values(&freezing));
    find_writers(&freezing);
    drop_unneeded(&freezing);
    TRY(begin_result(&freezing));
    TRY(write_nodes(&freezing));
    TRY(write_warnings(&freezing));
    *ret_def = TAKE(freezing.def);
    return STATUS_OK;
}
