/* Freezes a model for serving: variables become constants, or begin with their values from the checkpoint.
 *
 *   1. find_carried() finds which variable each output carries.
 *   2. find_values() finds the value of each variable: a RestoreV2 names tensors of the checkpoint, and an
 *      assignment of its outputs names the variable, or a copy of it.
 *   3. find_writers() finds the nodes that signatures need and that change a variable: it stays a variable.
 *   4. drop_unneeded() drops what would change a constant, with all that depends on it.
 *   5. write_nodes() writes the rest. A frozen variable becomes a Const, and its readers read that. A
 *      variable that is changed gets its first value as an input, as op "_Restored…"
 *      (shared/ops/variable/definition.c). A RestoreV2 that is kept gives constants.
 *
 * A lookup table whose rows a RestoreV2 gives is treated like a variable that is changed: it begins with
 * them, as op "_Restored…" (shared/ops/lookup/definition.c). If they did not come with the model, it waits
 * for them. */
#include "gateway/expand/freeze.h"

#include <assert.h>

#include "shared/base/buffer.h"
#include "shared/base/map.h"
#include "shared/base/text.h"

enum { DEF_SIZE_MAX = 1 << 30 };

typedef struct Freezing {
    Call *call;
    const Graph *graph;
    GraphDef *def;
    Map *checkpoint;       /* name → GraphTensor */
    bool *needed;          /* by node: a signature needs it */
    const Node **carried;  /* by node: the variable that its outputs stand for, or NULL */
    const Tensor **values; /* by variable's node: its value in the checkpoint, or NULL */
    const Node **writers;  /* by variable's node: a needed node that changes it, or NULL */
    const Node **imports;  /* by table's node: the node that restores its rows, or NULL */
    bool *is_changed;      /* by table's node: more than that node may change it */
    bool *is_restore;      /* by node: it only assigns to a variable its value in the checkpoint */
    bool *is_dropped;
    bool keeps_restores;
} Freezing;

static Status
freezing_no_memory(const Freezing *freezing)
{
    return call_fail_memory(freezing->call, "a graph with a checkpoint's values");
}

static bool
op_is(const Node *node, const char *op)
{
    return slice_equals_string(node->def->op, op);
}

static bool
is_handle(const Node *variable)
{
    return op_is(variable, "VarHandleOp");
}

/* Returns true when the variable becomes a constant. */
static bool
is_frozen(const Freezing *freezing, const Node *variable)
{
    return freezing->values[variable->id] != NULL && freezing->writers[variable->id] == NULL;
}

static const Node *
source_of(const Freezing *freezing, const Node *node, uint32_t input)
{
    bool is_there = input < node->input_count && node->inputs[input].node != NODE_NONE;
    return is_there ? &freezing->graph->nodes[node->inputs[input].node] : NULL;
}

/* Returns the variable behind an input, or NULL. */
static const Node *
variable_at(const Freezing *freezing, const Node *node, uint32_t input)
{
    const Node *source = source_of(freezing, node, input);
    return source == NULL ? NULL : freezing->carried[source->id];
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

/* Returns true for ops that pass a handle on. */
static bool
hands_on(const Node *node)
{
    static const char *const ops[] = {"Identity", "Switch", "Enter", "Exit", "NextIteration"};
    return op_is_among(node, ops, COUNT_OF(ops));
}

static void
find_carried(const Freezing *freezing)
{
    const Graph *graph = freezing->graph;
    for (uint32_t index = 0; index < graph->node_count; index++) {
        const Node *node = &graph->nodes[graph->order[index]];
        const Node *variable = hands_on(node) ? variable_at(freezing, node, 0) : NULL;
        if (is_variable(node)) {
            freezing->carried[node->id] = node;
        } else if (variable != NULL && is_handle(variable)) {
            freezing->carried[node->id] = variable;
        }
    }
}

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

/* Returns the constant strings behind an input, or NULL. */
static const Tensor *
strings_at(const Freezing *freezing, const Node *node, uint32_t input)
{
    uint32_t ignored = 0;
    const Node *constant = behind_identities(freezing, node, input, &ignored);
    const AttrValue *value =
        constant == NULL || !op_is(constant, "Const") ? NULL : node_attr(constant, "value");
    bool is_text = value != NULL && value->kind == ATTR_TENSOR && !value->is_list &&
                   value->value.tensor.dtype == DTYPE_STRING;
    return is_text ? &value->value.tensor : NULL;
}

static size_t
restored_count(const Freezing *freezing, const Node *restore)
{
    const Tensor *names = strings_at(freezing, restore, 1);
    return names == NULL ? 0 : (size_t)tensor_element_count(names);
}

/* Finds a part of a tensor. The text is "4 2 0,2:-": the shape of the whole, then the slice of it. */
static const GraphTensor *
find_slice(const Freezing *freezing, Slice name, Slice shape_and_slice)
{
    size_t blank = slice_find_last(shape_and_slice, ' ');
    const char *text = text_format(freezing->call->arena, "%.*s %.*s", SLICE_PRINT(name),
        SLICE_PRINT(slice_part(shape_and_slice, blank + 1, SIZE_MAX)));
    return text == NULL ? NULL : map_get(freezing->checkpoint, slice_from_string(text));
}

static const GraphTensor *
restored_tensor(const Freezing *freezing, const Node *restore, uint32_t port)
{
    const Tensor *names = strings_at(freezing, restore, 1);
    const Tensor *slices = strings_at(freezing, restore, 2);
    if (names == NULL || slices == NULL || port >= tensor_element_count(names) ||
        port >= tensor_element_count(slices)) {
        return NULL;
    }
    Slice name = ((const Slice *)names->data)[port];
    Slice slice = ((const Slice *)slices->data)[port];
    return slice.size > 0 ? find_slice(freezing, name, slice) : map_get(freezing->checkpoint, name);
}

/* Returns the tensor that the node assigns, when it comes from the checkpoint. */
static const GraphTensor *
assigned_value(const Freezing *freezing, const Node *node)
{
    uint32_t port = 0;
    const Node *restore = behind_identities(freezing, node, 1, &port);
    bool is_restored = restore != NULL && op_is(restore, "RestoreV2");
    return is_restored ? restored_tensor(freezing, restore, port) : NULL;
}

static Dtype
variable_dtype(const Node *variable)
{
    const AttrValue *dtype = node_attr(variable, "dtype");
    return dtype != NULL && dtype->kind == ATTR_TYPE ? dtype->value.type : DTYPE_INVALID;
}

static Status
find_value(const Freezing *freezing, const Node *node)
{
    bool assigns = op_is(node, "AssignVariableOp") || op_is(node, "Assign");
    const Node *variable = assigns ? variable_at(freezing, node, 0) : NULL;
    const GraphTensor *value = variable == NULL ? NULL : assigned_value(freezing, node);
    if (value == NULL) {
        return STATUS_OK;
    }
    if (value->tensor.dtype != variable_dtype(variable)) {
        return call_fail(freezing->call, STATUS_INVALID_ARGUMENT,
            "variable '%.*s' is %s, tensor '%.*s' of the checkpoint is %s", SLICE_PRINT(variable->name),
            dtype_name(variable_dtype(variable)), SLICE_PRINT(value->name), dtype_name(value->tensor.dtype));
    }
    freezing->values[variable->id] = &value->tensor;
    freezing->is_restore[node->id] = true;
    return STATUS_OK;
}

/* An assignment whose result is read does more than restore. */
static void
unmark_read_restores(const Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        const Node *node = &freezing->graph->nodes[id];
        for (uint32_t input = 0; input < node->input_count; input++) {
            const Node *source = source_of(freezing, node, input);
            if (source != NULL) {
                freezing->is_restore[source->id] = false;
            }
        }
    }
}

/* Gives the variable that another one is a copy of the other's value, if the checkpoint has none for it.
 * Keras 3 saves a copy of each variable, whose first value is the variable's own, while signatures read the
 * variable itself. */
static void
find_copied_value(const Freezing *freezing, const Node *node)
{
    uint32_t port = 0;
    const Node *copy = op_is(node, "AssignVariableOp") ? variable_at(freezing, node, 0) : NULL;
    const Node *read = copy == NULL ? NULL : behind_identities(freezing, node, 1, &port);
    const Node *original =
        read == NULL || !op_is(read, "ReadVariableOp") ? NULL : variable_at(freezing, read, 0);
    if (original != NULL && freezing->values[original->id] == NULL &&
        variable_dtype(original) == variable_dtype(copy)) {
        freezing->values[original->id] = freezing->values[copy->id];
    }
}

/* Returns the table that may have rows in a checkpoint behind a handle, or NULL. */
static const Node *
table_at(const Freezing *freezing, const Node *node, uint32_t input)
{
    static const char *const ops[] = {
        "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2"};
    uint32_t ignored = 0;
    const Node *table = behind_identities(freezing, node, input, &ignored);
    return table != NULL && op_is_among(table, ops, COUNT_OF(ops)) ? table : NULL;
}

static void
find_import(const Freezing *freezing, const Node *node)
{
    uint32_t port = 0;
    const Node *table = op_is(node, "LookupTableImportV2") ? table_at(freezing, node, 0) : NULL;
    const Node *keys = table == NULL ? NULL : behind_identities(freezing, node, 1, &port);
    if (keys != NULL && op_is(keys, "RestoreV2")) {
        freezing->imports[table->id] = node;
        freezing->is_restore[node->id] = true;
    }
}

/* A change of a table is what is not known to read it: also a call or a loop that its handle goes into. */
static void
find_table_changes(Freezing *freezing, const Node *node)
{
    static const char *const reads[] = {
        "LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2", "Identity"};
    bool may_change = !freezing->is_restore[node->id] && !op_is_among(node, reads, COUNT_OF(reads));
    for (uint32_t input = 0; may_change && input < node->input_count; input++) {
        const Node *table = table_at(freezing, node, input);
        if (table != NULL && freezing->imports[table->id] != NULL) {
            freezing->is_changed[table->id] = true;
            freezing->keeps_restores = true;
        }
    }
}

static void
find_tables(Freezing *freezing)
{
    const Graph *graph = freezing->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        find_import(freezing, &graph->nodes[id]);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        find_table_changes(freezing, &graph->nodes[id]);
    }
}

static Status
find_values(const Freezing *freezing)
{
    const Graph *graph = freezing->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        TRY(find_value(freezing, &graph->nodes[id]));
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        find_copied_value(freezing, &graph->nodes[id]);
    }
    unmark_read_restores(freezing);
    return STATUS_OK;
}

/* Returns true for a ResourceGather without batch dimensions, which is a Gather of the value. */
static bool
gathers_rows(const Node *node)
{
    const AttrValue *batch_dims = node_attr(node, "batch_dims");
    return op_is(node, "ResourceGather") && (batch_dims == NULL || batch_dims->value.i == 0);
}

/* Returns true when the node may get the variable's value instead of the variable. */
static bool
only_reads(const Node *node, uint32_t input, const Node *variable)
{
    static const char *const reads[] = {"ReadVariableOp", "ResourceGatherNd", "VariableShape"};
    if (is_handle(variable)) {
        return op_is_among(node, reads, COUNT_OF(reads)) || hands_on(node) || gathers_rows(node);
    }
    return node->op != NULL && (input >= node->op->input_count || !node->op->inputs[input].is_reference);
}

/* Returns the first frozen variable that the node does more with than read; NULL for none. */
static const Node *
used_variable(const Freezing *freezing, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        const Node *variable = variable_at(freezing, node, input);
        if (variable != NULL && is_frozen(freezing, variable) && !only_reads(node, input, variable)) {
            return variable;
        }
    }
    return NULL;
}

/* A variable with a writer is no longer frozen, so that used_variable() returns the node's next one. A
 * restore counts as no writer: it would give a constant its own value. */
static void
find_writers(Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        const Node *node = &freezing->graph->nodes[id];
        bool writes = freezing->needed[id] && !freezing->is_restore[id];
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
    bool is_kept = freezing->keeps_restores && freezing->is_restore[node->id];
    return !is_kept && used_variable(freezing, node) != NULL;
}

static bool
depends_on_dropped(const Freezing *freezing, const Node *node)
{
    for (uint32_t input = 0; input < node->input_count; input++) {
        const Node *source = source_of(freezing, node, input);
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

/* Repeats until nothing changes, for the sake of values that come back in a loop. */
static void
drop_unneeded(const Freezing *freezing)
{
    const Graph *graph = freezing->graph;
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (uint32_t index = 0; index < graph->node_count; index++) {
            const Node *node = &graph->nodes[graph->order[index]];
            if (!freezing->needed[node->id] && !freezing->is_dropped[node->id] &&
                (changes_constant(freezing, node) || depends_on_dropped(freezing, node))) {
                freezing->is_dropped[node->id] = true;
                has_changed = true;
            }
        }
    }
}

typedef struct Writing {
    const Freezing *freezing;
    Arena *arena; /* of the new definition */
    Buffer nodes; /* NodeDef[] */
    Map *names;   /* of added nodes */
} Writing;

static void
push_node(Writing *writing, const NodeDef *def)
{
    buffer_append(&writing->nodes, def, sizeof *def);
}

static Status
copy_attrs(const Writing *writing, NodeDef *def, const Attr *attrs, size_t count)
{
    Attr *copy = arena_alloc(writing->arena, count * sizeof *copy);
    if (copy == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    memcpy(copy, attrs, count * sizeof *copy);
    def->attrs = copy;
    def->attr_count = count;
    return STATUS_OK;
}

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

/* Returns "<node>/<part>", or the first of "<node>/<part>_1", … that no node has. */
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

/* Adds a constant on the node's device, named after it. */
static Status
push_constant(Writing *writing, const Node *node, const char *part, const Tensor *value, Slice *ret_name)
{
    NodeDef def = {.device = node->def->device, .pointer = node->def->pointer};
    TRY(new_name(writing, node, part, &def.name));
    TRY(make_constant(writing, value, &def));
    push_node(writing, &def);
    *ret_name = def.name;
    return STATUS_OK;
}

/* Makes room for `count` inputs in front of the node's own. Returns NULL without memory. */
static Slice *
add_inputs(const Writing *writing, NodeDef *def, size_t count)
{
    Slice *inputs = arena_alloc(writing->arena, (count + def->input_count) * sizeof *inputs);
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

/* An op that reads through a handle, and the op that does the same with the value. */
typedef struct ReaderForm {
    const char *op;
    const char *value_op;
    const char *type_attr; /* the attribute that says the value's dtype */
    const char *kept[3];   /* attributes that are copied */
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
        const AttrValue *value = node_attr(node, form->kept[index]);
        if (value != NULL) {
            attrs[count++] = (Attr){.name = slice_from_string(form->kept[index]), .value = *value};
        }
    }
    return copy_attrs(writing, def, attrs, count);
}

/* Makes the variable begin with its value in the checkpoint. */
static Status
write_variable(Writing *writing, const Node *variable, NodeDef *def)
{
    const Tensor *value = writing->freezing->values[variable->id];
    const char *op = text_format(writing->arena, "_Restored%.*s", SLICE_PRINT(def->op));
    Slice *inputs = add_inputs(writing, def, 1);
    if (op == NULL || inputs == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    TRY(push_constant(writing, variable, "restored", value, &inputs[0]));
    def->op = slice_from_string(op);
    return STATUS_OK;
}

/* Returns the tensor of the checkpoint that an input of a table's import is, or NULL when it did not come. */
static const GraphTensor *
imported_rows(const Freezing *freezing, const Node *import, uint32_t input)
{
    uint32_t port = 0;
    const Node *restore = behind_identities(freezing, import, input, &port);
    bool is_restored = restore != NULL && op_is(restore, "RestoreV2");
    return is_restored ? restored_tensor(freezing, restore, port) : NULL;
}

static Status
check_rows(const Freezing *freezing, const Node *table, const GraphTensor *rows, const char *attribute)
{
    const AttrValue *dtype = node_attr(table, attribute);
    Dtype wanted = dtype != NULL && dtype->kind == ATTR_TYPE ? dtype->value.type : DTYPE_INVALID;
    return rows->tensor.dtype == wanted
               ? STATUS_OK
               : call_fail(freezing->call, STATUS_INVALID_ARGUMENT,
                     "'%s' of table '%.*s' is %s, tensor '%.*s' of the checkpoint is %s", attribute,
                     SLICE_PRINT(table->name), dtype_name(wanted), SLICE_PRINT(rows->name),
                     dtype_name(rows->tensor.dtype));
}

static Status
push_rows(
    Writing *writing, const Node *table, const GraphTensor *keys, const GraphTensor *values, NodeDef *def)
{
    Slice *inputs = add_inputs(writing, def, 2);
    if (inputs == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    TRY(check_rows(writing->freezing, table, keys, "key_dtype"));
    TRY(check_rows(writing->freezing, table, values, "value_dtype"));
    TRY(push_constant(writing, table, "keys", &keys->tensor, &inputs[0]));
    return push_constant(writing, table, "values", &values->tensor, &inputs[1]);
}

static Status
warn_of_missing_rows(const Writing *writing, const Node *table)
{
    GraphDef *def = writing->freezing->def;
    const char **warnings = arena_alloc(writing->arena, (def->warning_count + 1) * sizeof *warnings);
    const char *warning = text_format(writing->arena,
        "the rows of table '%.*s' are in a checkpoint that did not come with the model: steps that read the "
        "table are refused",
        SLICE_PRINT(slice_part(table->name, 0, 128)));
    if (warnings == NULL || warning == NULL) {
        return freezing_no_memory(writing->freezing);
    }
    for (size_t index = 0; index < def->warning_count; index++) {
        warnings[index] = def->warnings[index];
    }
    warnings[def->warning_count++] = warning;
    def->warnings = warnings;
    return STATUS_OK;
}

/* Makes the table begin with its rows in the checkpoint, or wait for them when they did not come. */
static Status
write_table(Writing *writing, const Node *table, NodeDef *def)
{
    const Freezing *freezing = writing->freezing;
    const Node *import = freezing->imports[table->id];
    const GraphTensor *keys = imported_rows(freezing, import, 1);
    const GraphTensor *values = imported_rows(freezing, import, 2);
    bool has_rows = keys != NULL && values != NULL;
    const char *op = text_format(writing->arena, "_Restored%.*s", SLICE_PRINT(def->op));
    Attr *attrs = arena_alloc(writing->arena, (def->attr_count + 2) * sizeof *attrs);
    if (op == NULL || attrs == NULL) {
        return freezing_no_memory(freezing);
    }
    attrs[0] = (Attr){.name = SLICE("N"), .value = {.kind = ATTR_INT, .value.i = has_rows ? 1 : 0}};
    attrs[1] = (Attr){.name = SLICE("is_constant"),
        .value = {.kind = ATTR_BOOL, .value.b = has_rows && !freezing->is_changed[table->id]}};
    memcpy(attrs + 2, def->attrs, def->attr_count * sizeof *attrs);
    def->attrs = attrs;
    def->attr_count += 2;
    def->op = slice_from_string(op);
    return has_rows ? push_rows(writing, table, keys, values, def) : warn_of_missing_rows(writing, table);
}

/* Returns true when the checkpoint has every tensor that the RestoreV2 names. */
static bool
can_restore(const Freezing *freezing, const Node *restore)
{
    size_t count = restored_count(freezing, restore);
    for (size_t index = 0; index < count; index++) {
        if (restored_tensor(freezing, restore, (uint32_t)index) == NULL) {
            return false;
        }
    }
    return count > 0;
}

static Status
write_types(const Writing *writing, size_t count, const AttrValue *types, NodeDef *def)
{
    Attr attr = {.name = SLICE("T"),
        .value = {.kind = ATTR_TYPE, .is_list = true, .value.list = {.count = count, .items = types}}};
    def->op = SLICE("IdentityN");
    return copy_attrs(writing, def, &attr, 1);
}

/* Makes a RestoreV2 give constants, whatever file it is asked for: workers read no files. */
static Status
write_restore(Writing *writing, const Node *restore, NodeDef *def)
{
    const Freezing *freezing = writing->freezing;
    size_t count = restored_count(freezing, restore);
    AttrValue *types = arena_alloc(writing->arena, count * sizeof *types);
    drop_data_inputs(restore, def);
    Slice *inputs = add_inputs(writing, def, count);
    if (types == NULL || inputs == NULL) {
        return freezing_no_memory(freezing);
    }
    for (size_t index = 0; index < count; index++) {
        const Tensor *value = &restored_tensor(freezing, restore, (uint32_t)index)->tensor;
        TRY(push_constant(writing, restore, "tensor", value, &inputs[index]));
        types[index] = (AttrValue){.kind = ATTR_TYPE, .value.type = value->dtype};
    }
    return write_types(writing, count, types, def);
}

/* An assignment of a constant's own value changes nothing: it becomes a NoOp, so that nodes that wait for
 * it still run. */
static void
write_no_op(const Node *node, NodeDef *def)
{
    drop_data_inputs(node, def);
    def->op = SLICE("NoOp");
    def->attrs = NULL;
    def->attr_count = 0;
}

/* Returns the frozen variable whose handle the node is, or reads as its first input; NULL for none. */
static const Node *
constant_behind(const Freezing *freezing, const Node *node)
{
    const Node *variable = variable_at(freezing, node, 0);
    return variable != NULL && is_handle(variable) && is_frozen(freezing, variable) ? variable : NULL;
}

static Status
rewrite_node(Writing *writing, const Node *node, NodeDef *def)
{
    const Freezing *freezing = writing->freezing;
    const Node *constant = constant_behind(freezing, node);
    const ReaderForm *form = constant == NULL ? NULL : reader_form(node);
    if (freezing->values[node->id] != NULL) {
        return is_frozen(freezing, node) ? make_constant(writing, freezing->values[node->id], def)
                                         : write_variable(writing, node, def);
    }
    if (freezing->imports[node->id] != NULL) {
        return write_table(writing, node, def);
    }
    if (form != NULL) {
        return write_reader(writing, node, form, freezing->values[constant->id]->dtype, def);
    }
    if (freezing->keeps_restores && op_is(node, "RestoreV2") && can_restore(freezing, node)) {
        return write_restore(writing, node, def);
    }
    const Node *target = freezing->is_restore[node->id] ? variable_at(freezing, node, 0) : NULL;
    if (target != NULL && is_frozen(freezing, target)) {
        write_no_op(node, def);
    }
    return STATUS_OK;
}

static Status
write_nodes(Writing *writing)
{
    const Graph *graph = writing->freezing->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        NodeDef def = *graph->nodes[id].def;
        if (!writing->freezing->is_dropped[id]) {
            TRY(rewrite_node(writing, &graph->nodes[id], &def));
            push_node(writing, &def);
        }
    }
    NodeDef *nodes = arena_alloc(writing->arena, writing->nodes.size);
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

static void
writing_done(Writing *writing)
{
    buffer_done(&writing->nodes);
    map_free(writing->names);
}

static Status
write_result(const Freezing *freezing)
{
    CLEANUP(writing_done)
    Writing writing = {.freezing = freezing, .arena = freezing->def->arena, .names = map_new()};
    if (writing.names == NULL) {
        return freezing_no_memory(freezing);
    }
    return write_nodes(&writing);
}

static Status
mark_needed(const Freezing *freezing)
{
    const Graph *graph = freezing->graph;
    size_t count = graph->def->output_count;
    uint32_t *roots = arena_alloc(freezing->call->arena, count * sizeof *roots);
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
        GraphTensor *tensor = arena_alloc(freezing->call->arena, sizeof *tensor);
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
    Arena *arena = freezing->call->arena;
    size_t count = freezing->graph->node_count;
    freezing->needed = arena_alloc(arena, count);
    freezing->is_restore = arena_alloc(arena, count);
    freezing->is_dropped = arena_alloc(arena, count);
    freezing->carried = arena_alloc(arena, count * sizeof(Node *));
    freezing->writers = arena_alloc(arena, count * sizeof(Node *));
    freezing->values = arena_alloc(arena, count * sizeof(Tensor *));
    freezing->imports = arena_alloc(arena, count * sizeof(Node *));
    freezing->is_changed = arena_alloc(arena, count);
    bool is_all = freezing->needed != NULL && freezing->is_restore != NULL && freezing->is_dropped != NULL &&
                  freezing->carried != NULL && freezing->writers != NULL && freezing->values != NULL &&
                  freezing->imports != NULL && freezing->is_changed != NULL;
    return is_all ? STATUS_OK : freezing_no_memory(freezing);
}

static Status
begin_result(Freezing *freezing)
{
    GraphDef *from = freezing->graph->def;
    GraphDef *def = graph_def_new(DEF_SIZE_MAX);
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
    def->warnings = from->warnings;
    def->warning_count = from->warning_count;
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

/* A graph whose checkpoint did not come is looked at as well: its tables may wait for their rows. */
static bool
restores_anything(const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (op_is(&graph->nodes[id], "RestoreV2")) {
            return true;
        }
    }
    return graph_def_author(graph->def)->checkpoint_count > 0;
}

Status
graph_freeze(Call *call, const Graph *graph, GraphDef **ret_def)
{
    assert(call->arena != NULL && graph->def != NULL);
    const GraphDef *author = graph_def_author(graph->def);
    if (!restores_anything(graph) || graph->def->output_count == 0) {
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
    TRY(find_values(&freezing));
    find_tables(&freezing);
    find_writers(&freezing);
    drop_unneeded(&freezing);
    TRY(begin_result(&freezing));
    TRY(write_result(&freezing));
    *ret_def = TAKE(freezing.def);
    return STATUS_OK;
}
