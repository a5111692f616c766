/* Functions that call themselves, perhaps through others: written out up to where the circle closes, and
 * called from there on. The call is a _Branch of one function, whose body is written out once, in the same
 * way; the worker runs it in a run of its own. Whether it ends, the data decide: If's branches run when they
 * are taken.
 *
 *     f(n) = if n < 2 then 1 else n * f(n - 1)
 *     graph:  if n < 2 then 1 else n * (if n - 1 < 2 then … else … _Branch(f))
 *     f:      _Arg → if … then 1 else … _Branch(f) → _Retval */
#include "gateway/expand/expansion.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"

typedef struct Recursion {
    const FunctionDef *function;
    Slice name; /* of the function in the result */
    bool has_state;
    NodeDef *nodes;
    size_t node_count;
} Recursion;

static size_t
recursion_count(const Expansion *expansion)
{
    return expansion->recursions.size / sizeof(Recursion);
}

static Recursion *
recursion_at(const Expansion *expansion, size_t index)
{
    return (Recursion *)(void *)expansion->recursions.data + index;
}

bool
recursion_is(const Scope *scope, const FunctionDef *function)
{
    for (const Scope *outer = scope; outer != NULL; outer = outer->caller) {
        if (outer->function == function) {
            return true;
        }
    }
    return false;
}

/* --- State ---------------------------------------------------------------------------------------------- */

typedef struct StateSearch {
    const Expansion *expansion;
    Map *seen; /* functions */
} StateSearch;

static bool find_state(const StateSearch *search, const FunctionDef *function, int depth);

static bool
find_state_of(const StateSearch *search, Slice name, int depth)
{
    const FunctionDef *const function = map_get(search->expansion->functions, name);
    return function != NULL && find_state(search, function, depth + 1);
}

/* In the functions that it names, or as what it is. */
static bool
node_has_state(const StateSearch *search, const NodeDef *node, int depth)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        const AttrValue *const value = &node->attrs[index].value;
        const AttrValue *const items = value->is_list ? value->value.list.items : value;
        const size_t count = value->is_list ? value->value.list.count : 1;
        for (size_t item = 0; value->kind == ATTR_FUNCTION && item < count; item++) {
            if (find_state_of(search, items[item].value.function.name, depth)) {
                return true;
            }
        }
    }
    const Op *const op = form_find(search->expansion, node->op) == NULL ? op_find(node->op) : NULL;
    const bool is_stateful = op != NULL && (op->flags & (OP_STATEFUL | OP_STEP_LOCAL)) == OP_STATEFUL;
    return is_stateful || find_state_of(search, node->op, depth);
}

/* Whether it, or what it calls, has effects or reads what others change; also where that cannot be told. */
static bool
find_state(const StateSearch *search, const FunctionDef *function, int depth)
{
    if (map_get(search->seen, function->name) != NULL) {
        return false;
    }
    if (depth > EXPAND_DEPTH_MAX || !map_put(search->seen, function->name, search->seen)) {
        return true;
    }
    for (size_t index = 0; index < function->node_count; index++) {
        if (node_has_state(search, &function->nodes[index], depth)) {
            return true;
        }
    }
    return false;
}

static bool
has_state(const Expansion *expansion, const FunctionDef *function)
{
    AUTO_MAP seen = map_new();
    const StateSearch search = {.expansion = expansion, .seen = seen};
    return seen == NULL || find_state(&search, function, 0);
}

/* --- A call --------------------------------------------------------------------------------------------- */

/* "_call_f": no branch's function has such a name. */
static Status
obtain(Expansion *expansion, const FunctionDef *function, Recursion *ret_recursion)
{
    for (size_t index = 0; index < recursion_count(expansion); index++) {
        if (recursion_at(expansion, index)->function == function) {
            *ret_recursion = *recursion_at(expansion, index);
            return STATUS_OK;
        }
    }
    const char *const name = text_format(expansion->def->arena, "_call_%.*s", SLICE_PRINT(function->name));
    *ret_recursion = (Recursion){
        .function = function, .name = slice_from_string(name), .has_state = has_state(expansion, function)};
    buffer_append(&expansion->recursions, ret_recursion, sizeof *ret_recursion);
    return name != NULL && buffer_is_ok(&expansion->recursions) ? STATUS_OK : expand_no_memory(expansion);
}

static Status
list_types(const Expansion *expansion, const FunctionArgument *arguments, size_t count, AttrValue *ret_list)
{
    AttrValue *const items = expand_alloc(expansion, count, sizeof *items);
    if (items == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < count; index++) {
        items[index] = (AttrValue){.kind = ATTR_TYPE, .value.type = arguments[index].dtype};
    }
    *ret_list =
        (AttrValue){.kind = ATTR_TYPE, .is_list = true, .value.list = {.count = count, .items = items}};
    return STATUS_OK;
}

static Status
name_function(const Expansion *expansion, Slice name, AttrValue *ret_list)
{
    AttrValue *const item = expand_alloc(expansion, 1, sizeof *item);
    if (item == NULL) {
        return expand_no_memory(expansion);
    }
    *item = (AttrValue){.kind = ATTR_FUNCTION, .value.function = {.name = name}};
    *ret_list =
        (AttrValue){.kind = ATTR_FUNCTION, .is_list = true, .value.list = {.count = 1, .items = item}};
    return STATUS_OK;
}

/* The first branch of one is taken, whatever the index; it is dead where the call is not reached. */
static Status
emit_call(const Scope *scope, const Use *use, const Recursion *called, Slice name)
{
    Expansion *const expansion = scope->expansion;
    const FunctionDef *const function = called->function;
    Scope inside = *scope;
    Slice index;
    AttrValue inputs;
    AttrValue outputs;
    AttrValue branches;
    Emission node;
    inside.pivot = use->pivot;
    TRY(expand_part(expansion, name, "index", &index));
    TRY(emit_int(&inside, index, DTYPE_INT32, 0));
    TRY(list_types(expansion, function->inputs, function->input_count, &inputs));
    TRY(list_types(expansion, function->outputs, function->output_count, &outputs));
    TRY(name_function(expansion, called->name, &branches));
    const char *const op = called->has_state ? "_StateBranch" : "_Branch";
    TRY(emission_begin(&node, &inside, name, op, use->arguments->count + 1));
    emission_input(&node, index);
    emission_inputs(&node, use->arguments);
    emission_type(&node, "Tindex", DTYPE_INT32);
    emission_value(&node, "Tin", inputs);
    emission_value(&node, "Tout", outputs);
    emission_value(&node, "branches", branches);
    return emission_end(&node);
}

static bool
has_attributes(const FunctionDef *function)
{
    bool has_any = function->declared_attr_count > 0;
    for (size_t index = 0; index < function->input_count; index++) {
        has_any = has_any || function->inputs[index].dtype == DTYPE_INVALID;
    }
    for (size_t index = 0; index < function->output_count; index++) {
        has_any = has_any || function->outputs[index].dtype == DTYPE_INVALID;
    }
    return has_any;
}

static Status
check_call(const Scope *scope, const Use *use, const FunctionDef *function)
{
    if (has_attributes(function)) {
        return expand_fail(scope, use->member,
            "function '%.*s' calls itself, and has attributes: only one "
            "without can be called",
            SLICE_PRINT(function->name));
    }
    if (use->arguments->count != function->input_count) {
        return expand_fail(scope, use->member, "gives function '%.*s' %zu arguments, it takes %zu",
            SLICE_PRINT(function->name), use->arguments->count, function->input_count);
    }
    return STATUS_OK;
}

static Status
list_outputs(Expansion *expansion, const Recursion *called, Slice name, Used *used)
{
    const FunctionDef *const function = called->function;
    used->dtypes = expand_scratch(expansion, function->output_count, sizeof *used->dtypes);
    if (used->dtypes == NULL) {
        return expand_no_memory(expansion);
    }
    TRY(endpoints_new(expansion, function->output_count, &used->outputs));
    for (size_t index = 0; index < function->output_count; index++) {
        used->dtypes[index] = function->outputs[index].dtype;
        TRY(expand_port(expansion, name, index, &used->outputs.items[index]));
    }
    return STATUS_OK;
}

Status
recursion_use(const Scope *scope, const Use *use, const FunctionDef *function, Used *ret_used)
{
    Expansion *const expansion = scope->expansion;
    Recursion called;
    Slice name;
    TRY(check_call(scope, use, function));
    TRY(obtain(expansion, function, &called));
    TRY(expand_part(expansion, use->member->name, use->part[0] == '\0' ? "call" : use->part, &name));
    TRY(emit_call(scope, use, &called, name));
    *ret_used = (Used){.dtypes = NULL};
    TRY(list_outputs(expansion, &called, name, ret_used));
    if (!called.has_state) {
        return STATUS_OK;
    }
    TRY(endpoints_new(expansion, 1, &ret_used->effects));
    return expand_control(expansion, name, &ret_used->effects.items[0]);
}

/* --- Bodies --------------------------------------------------------------------------------------------- */

static Status
emit_port(const Scope *scope, Slice name, const char *op, Slice input, Dtype dtype, size_t index)
{
    Emission node;
    TRY(emission_begin(&node, scope, name, op, 1));
    emission_input(&node, input);
    emission_type(&node, "T", dtype);
    emission_int(&node, "index", (int64_t)index);
    return emission_end(&node);
}

static Status
emit_arguments(const Scope *scope, Slice body, const FunctionDef *function, Endpoints *ret_arguments)
{
    TRY(endpoints_new(scope->expansion, function->input_count, ret_arguments));
    for (size_t index = 0; index < function->input_count; index++) {
        Slice *const name = &ret_arguments->items[index];
        TRY(expand_item(scope->expansion, body, "arg_", index, name));
        TRY(emit_port(scope, *name, "_Arg", SLICE(""), function->inputs[index].dtype, index));
    }
    return STATUS_OK;
}

/* Nodes whose name begins with '_', as those of a partition may. */
static Status
write_body(Expansion *expansion, const Recursion *recursion)
{
    const Scope scope = {.expansion = expansion, .path = SLICE(""), .device = SLICE(""), .pivot = SLICE("")};
    const Member member = {.name = recursion->name};
    Endpoints arguments;
    Used used;
    TRY(emit_arguments(&scope, recursion->name, recursion->function, &arguments));
    const Use use = {.member = &member,
        .function = recursion->function->name,
        .part = "",
        .pivot = SLICE(""),
        .arguments = &arguments,
        .only_asked = recursion->function->control_return_count > 0};
    TRY(expand_use(&scope, &use, &used));
    for (size_t index = 0; index < used.outputs.count; index++) {
        Slice name;
        TRY(expand_item(expansion, recursion->name, "retval_", index, &name));
        TRY(emit_port(&scope, name, "_Retval", used.outputs.items[index], used.dtypes[index], index));
    }
    return STATUS_OK;
}

/* What is emitted from here on are the body's nodes. */
static Status
keep_body(Expansion *expansion, size_t first, Recursion *recursion)
{
    recursion->node_count = expansion->node_count - first;
    recursion->nodes = expand_alloc(expansion, recursion->node_count, sizeof(NodeDef));
    if (recursion->nodes == NULL) {
        return expand_no_memory(expansion);
    }
    memcpy(recursion->nodes, (const NodeDef *)(const void *)expansion->nodes.data + first,
        recursion->node_count * sizeof(NodeDef));
    return STATUS_OK;
}

static Status
write_functions(Expansion *expansion)
{
    const size_t count = recursion_count(expansion);
    FunctionDef *const functions = expand_alloc(expansion, count, sizeof *functions);
    if (functions == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < count; index++) {
        const Recursion *const recursion = recursion_at(expansion, index);
        functions[index] = (FunctionDef){.name = recursion->name,
            .is_stateful = recursion->has_state,
            .nodes = recursion->nodes,
            .node_count = recursion->node_count};
    }
    expansion->def->functions = functions;
    expansion->def->function_count = count;
    return STATUS_OK;
}

/* Bodies may call functions that nobody has called before. */
Status
recursions_write(Expansion *expansion)
{
    const size_t graph_nodes = expansion->node_count;
    for (size_t index = 0; index < recursion_count(expansion); index++) {
        const size_t first = expansion->node_count;
        const Recursion recursion = *recursion_at(expansion, index);
        TRY(write_body(expansion, &recursion));
        TRY(keep_body(expansion, first, recursion_at(expansion, index)));
    }
    expansion->node_count = graph_nodes;
    return write_functions(expansion);
}
