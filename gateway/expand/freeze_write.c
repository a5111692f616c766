/* A variable that nobody changes becomes a Const, and what reads it reads that. One that is changed gets its
 * first value as an input: "_Restored…" (shared/ops/variable/definition.c). RestoreV2 gives constants. */
#include "gateway/expand/freezing.h"
#include "shared/base/buffer.h"
#include "shared/base/text.h"

typedef struct Writing {
    const Freezing *freezing;
    Arena *arena; /* the result's */
    Buffer nodes; /* NodeDef[] */
    Map *names;   /* of new ones */
} Writing;

static void
push(Writing *writing, const NodeDef *def)
{
    buffer_append(&writing->nodes, def, sizeof *def);
}

static Status
copy_attrs(const Writing *writing, NodeDef *def, const Attr *attrs, size_t count)
{
    Attr *const copy = arena_alloc(writing->arena, count * sizeof *copy);
    if (copy == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    memcpy(copy, attrs, count * sizeof *copy);
    def->attrs = copy;
    def->attr_count = count;
    return STATUS_OK;
}

/* --- Constants ------------------------------------------------------------------------------------------ */

static Status
make_constant(const Writing *writing, const Tensor *value, NodeDef *def)
{
    const Attr attrs[] = {
        {.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = value->dtype}},
        {.name = SLICE("value"), .value = {.kind = ATTR_TENSOR, .value.tensor = *value}},
    };
    def->op = SLICE("Const");
    return copy_attrs(writing, def, attrs, COUNT_OF(attrs));
}

static bool
is_taken(const Writing *writing, Slice name)
{
    return map_get(writing->names, name) != NULL || graph_find(writing->freezing->graph, name) != NULL;
}

/* "<node>/<part>", or the first of "<node>/<part>_1", … that no node has. */
static Status
new_name(const Writing *writing, const Node *node, const char *part, Slice *ret_name)
{
    const char *name = text_format(writing->arena, "%.*s/%s", SLICE_PRINT(node->name), part);
    for (int turn = 1; name != NULL && is_taken(writing, slice_from_string(name)); turn++) {
        name = text_format(writing->arena, "%.*s/%s_%d", SLICE_PRINT(node->name), part, turn);
    }
    *ret_name = slice_from_string(name);
    return name != NULL && map_put(writing->names, *ret_name, writing->names)
               ? STATUS_OK
               : freezing_no_memory(writing->freezing);
}

/* Beside the node. */
static Status
push_constant(Writing *writing, const Node *node, const char *part, const Tensor *value, Slice *ret_name)
{
    NodeDef def = {.device = node->def->device, .pointer = node->def->pointer};
    TRY(new_name(writing, node, part, &def.name));
    TRY(make_constant(writing, value, &def));
    push(writing, &def);
    *ret_name = def.name;
    return STATUS_OK;
}

/* Room for `count` inputs in front of the node's own; NULL without memory. */
static Slice *
add_inputs(const Writing *writing, NodeDef *def, size_t count)
{
    Slice *const inputs = arena_alloc(writing->arena, (count + def->input_count) * sizeof *inputs);
    if (inputs == NULL) {
        return NULL;
    }
    if (def->input_count > 0) {
        memcpy(inputs + count, def->inputs, def->input_count * sizeof *inputs);
    }
    def->inputs = inputs;
    def->input_count += count;
    return inputs;
}

static void
drop_data_inputs(const Node *node, NodeDef *def)
{
    def->inputs += node->input_count;
    def->input_count -= node->input_count;
}

/* --- Readers of constants ------------------------------------------------------------------------------- */

/* What an op on a variable's handle is on its value. */
typedef struct ReaderForm {
    const char *op;
    const char *value_op;
    const char *type_attr; /* that says the value's dtype */
    const char *kept[3];   /* attributes that stay as they are */
} ReaderForm;

static const ReaderForm reader_forms[] = {
    {"ReadVariableOp", "Identity", "T", {NULL}},
    {"VariableShape", "Shape", "T", {"out_type"}},
    {"ResourceGather", "Gather", "Tparams", {"Tindices"}},
    {"ResourceGatherNd", "GatherNd", "Tparams", {"Tindices"}},
    {"Enter", "Enter", "T", {"frame_name", "is_constant", "parallel_iterations"}},
    {"Exit", "Exit", "T", {NULL}},
    {"Identity", "Identity", "T", {NULL}},
    {"NextIteration", "NextIteration", "T", {NULL}},
    {"Switch", "Switch", "T", {NULL}},
};

static const ReaderForm *
reader_form(const Node *node)
{
    for (size_t index = 0; index < COUNT_OF(reader_forms); index++) {
        if (op_is(node, reader_forms[index].op)) {
            return &reader_forms[index];
        }
    }
    return NULL;
}

static Status
write_reader(const Writing *writing, const Node *node, const ReaderForm *form, Dtype dtype, NodeDef *def)
{
    Attr attrs[1 + COUNT_OF(form->kept)] = {
        {.name = slice_from_string(form->type_attr), .value = {.kind = ATTR_TYPE, .value.type = dtype}}};
    size_t count = 1;
    def->op = slice_from_string(form->value_op);
    for (size_t index = 0; index < COUNT_OF(form->kept) && form->kept[index] != NULL; index++) {
        const AttrValue *const value = node_attr(node, form->kept[index]);
        if (value != NULL) {
            attrs[count++] = (Attr){.name = slice_from_string(form->kept[index]), .value = *value};
        }
    }
    return copy_attrs(writing, def, attrs, count);
}

/* --- Variables and restores ----------------------------------------------------------------------------- */

/* The variable, which begins with what the checkpoint has. */
static Status
write_variable(Writing *writing, const Node *variable, NodeDef *def)
{
    const Tensor *const value = writing->freezing->values[variable->id];
    const char *const op = text_format(writing->arena, "_Restored%.*s", SLICE_PRINT(def->op));
    Slice *const inputs = add_inputs(writing, def, 1);
    if (op == NULL || inputs == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    TRY(push_constant(writing, variable, "restored", value, &inputs[0]));
    def->op = slice_from_string(op);
    return STATUS_OK;
}

/* Every tensor that it names, if the checkpoint has them all. */
static bool
can_restore(const Freezing *freezing, const Node *restore)
{
    const size_t count = freezing_restored_count(freezing, restore);
    for (size_t index = 0; index < count; index++) {
        if (freezing_restored(freezing, restore, (uint32_t)index) == NULL) {
            return false;
        }
    }
    return count > 0;
}

static Status
write_types(const Writing *writing, size_t count, const AttrValue *types, NodeDef *def)
{
    const Attr attr = {.name = SLICE("T"),
        .value = {.kind = ATTR_TYPE, .is_list = true, .value.list = {.count = count, .items = types}}};
    def->op = SLICE("IdentityN");
    return copy_attrs(writing, def, &attr, 1);
}

/* RestoreV2, whatever file it is asked for: a worker reads none. */
static Status
write_restore(Writing *writing, const Node *restore, NodeDef *def)
{
    const Freezing *const freezing = writing->freezing;
    const size_t count = freezing_restored_count(freezing, restore);
    AttrValue *const types = arena_alloc(writing->arena, count * sizeof *types);
    drop_data_inputs(restore, def);
    Slice *const inputs = add_inputs(writing, def, count);
    if (types == NULL || inputs == NULL) {
        return freezing_no_memory(freezing);
    }
    for (size_t index = 0; index < count; index++) {
        const Tensor *const value = &freezing_restored(freezing, restore, (uint32_t)index)->tensor;
        TRY(push_constant(writing, restore, "tensor", value, &inputs[index]));
        types[index] = (AttrValue){.kind = ATTR_TYPE, .value.type = value->dtype};
    }
    return write_types(writing, count, types, def);
}

/* What a constant is assigned, it has. */
static void
write_nothing(const Node *node, NodeDef *def)
{
    drop_data_inputs(node, def);
    def->op = SLICE("NoOp");
    def->attrs = NULL;
    def->attr_count = 0;
}

/* --- The whole ------------------------------------------------------------------------------------------ */

/* The constant that the node, or what it reads, was a handle of; NULL: none. */
static const Node *
constant_behind(const Freezing *freezing, const Node *node)
{
    const Node *const variable = variable_at(freezing, node, 0);
    return variable != NULL && is_handle(variable) && is_frozen(freezing, variable) ? variable : NULL;
}

static Status
rewrite(Writing *writing, const Node *node, NodeDef *def)
{
    const Freezing *const freezing = writing->freezing;
    const Node *const constant = constant_behind(freezing, node);
    const ReaderForm *const form = constant == NULL ? NULL : reader_form(node);
    if (freezing->values[node->id] != NULL) {
        return is_frozen(freezing, node) ? make_constant(writing, freezing->values[node->id], def)
                                         : write_variable(writing, node, def);
    }
    if (form != NULL) {
        return write_reader(writing, node, form, freezing->values[constant->id]->dtype, def);
    }
    if (freezing->keeps_restores && op_is(node, "RestoreV2") && can_restore(freezing, node)) {
        return write_restore(writing, node, def);
    }
    const Node *const target = freezing->is_restore[node->id] ? variable_at(freezing, node, 0) : NULL;
    if (target != NULL && is_frozen(freezing, target)) {
        write_nothing(node, def);
    }
    return STATUS_OK;
}

static Status
write_nodes(Writing *writing)
{
    const Graph *const graph = writing->freezing->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        NodeDef def = *graph->nodes[id].def;
        if (!writing->freezing->is_dropped[id]) {
            TRY(rewrite(writing, &graph->nodes[id], &def));
            push(writing, &def);
        }
    }
    NodeDef *const nodes = arena_alloc(writing->arena, writing->nodes.size);
    if (!buffer_is_ok(&writing->nodes) || nodes == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    if (writing->nodes.size > 0) {
        memcpy(nodes, writing->nodes.data, writing->nodes.size);
    }
    writing->freezing->def->nodes = nodes;
    writing->freezing->def->node_count = writing->nodes.size / sizeof *nodes;
    return STATUS_OK;
}

/* --- Warnings ------------------------------------------------------------------------------------------- */

static const char *
warning_of(const Writing *writing, const Node *variable)
{
    const Slice name = slice_part(variable->name, 0, 128);
    const Node *const writer = writing->freezing->writers[variable->id];
    if (writer == NULL) {
        return text_format(
            writing->arena, "variable '%.*s' is a constant: its value in the checkpoint", SLICE_PRINT(name));
    }
    return text_format(writing->arena,
        "variable '%.*s' is changed by node '%.*s': in each session it begins with its value in the "
        "checkpoint",
        SLICE_PRINT(name), SLICE_PRINT(slice_part(writer->name, 0, 128)));
}

static Status
write_warnings(const Writing *writing)
{
    const Freezing *const freezing = writing->freezing;
    const GraphDef *const from = freezing->graph->def;
    const char **const warnings =
        arena_alloc(writing->arena, (from->warning_count + freezing->graph->node_count) * sizeof *warnings);
    if (warnings == NULL) {
        return freezing_no_memory(freezing);
    }
    size_t count = 0;
    for (; count < from->warning_count; count++) {
        warnings[count] = from->warnings[count];
    }
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        if (freezing->values[id] != NULL) {
            warnings[count] = warning_of(writing, &freezing->graph->nodes[id]);
            if (warnings[count++] == NULL) {
                return freezing_no_memory(freezing);
            }
        }
    }
    freezing->def->warnings = warnings;
    freezing->def->warning_count = count;
    return STATUS_OK;
}

static void
writing_done(Writing *writing)
{
    buffer_done(&writing->nodes);
    map_free(writing->names);
}

Status
freezing_write(const Freezing *freezing)
{
    CLEANUP(writing_done)
    Writing writing = {.freezing = freezing, .arena = freezing->def->arena, .names = map_new()};
    if (writing.names == NULL) {
        return freezing_no_memory(freezing);
    }
    TRY(write_nodes(&writing));
    return write_warnings(&writing);
}
