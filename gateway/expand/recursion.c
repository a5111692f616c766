#include <assert.h>

#include "gateway/expand/recursion.h"

#include "gateway/expand/emission.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"

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

typedef struct StateSearch {
    const Expansion *expansion;
    Map *seen; /* by name of a function */
} StateSearch;

static bool find_state(const StateSearch *search, const FunctionDef *function, int depth);

static bool
find_state_of(const StateSearch *search, Slice name, int depth)
{
    const FunctionDef *function = map_get(search->expansion->functions, name);
    return function != NULL && find_state(search, function, depth + 1);
}

/* Looks at the node's op and at the functions that it names. */
static bool
node_has_state(const StateSearch *search, const NodeDef *node, int depth)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        const AttrValue *value = &node->attrs[index].value;
        const AttrValue *items = value->is_list ? value->value.list.items : value;
        size_t count = value->is_list ? value->value.list.count : 1;
        for (size_t item = 0; value->kind == ATTR_FUNCTION && item < count; item++) {
            if (find_state_of(search, items[item].value.function.name, depth)) {
                return true;
            }
        }
    }
    const Op *op = expand_form(search->expansion, node->op) == NULL ? op_find(node->op) : NULL;
    bool is_stateful = op != NULL && (op->flags & (OP_STATEFUL | OP_STEP_LOCAL)) == OP_STATEFUL;
    return is_stateful || find_state_of(search, node->op, depth);
}

/* Returns true when the function, or one that it calls, is stateful; also when functions nest too deep to
 * tell. */
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
    StateSearch search = {.expansion = expansion, .seen = seen};
    return seen == NULL || find_state(&search, function, 0);
}

/* Finds or adds the function's record. Its name in the new graph, "_call_f", is none that a branch's
 * function has. */
static Status
obtain_recursion(Expansion *expansion, const FunctionDef *function, Recursion *ret_recursion)
{
    for (size_t index = 0; index < recursion_count(expansion); index++) {
        if (recursion_at(expansion, index)->function == function) {
            *ret_recursion = *recursion_at(expansion, index);
            return STATUS_OK;
        }
    }
    const char *name = text_format(expansion->def->arena, "_call_%.*s", SLICE_PRINT(function->name));
    *ret_recursion = (Recursion){
        .function = function, .name = slice_from_string(name), .has_state = has_state(expansion, function)};
    buffer_append(&expansion->recursions, ret_recursion, sizeof *ret_recursion);
    return name != NULL && buffer_is_ok(&expansion->recursions) ? STATUS_OK : expand_no_memory(expansion);
}

static Status
list_types(const Expansion *expansion, const FunctionArgument *arguments, size_t count, AttrValue *ret_list)
{
    AttrValue *items = expand_alloc(expansion, count, sizeof *items);
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
list_function(const Expansion *expansion, Slice name, AttrValue *ret_list)
{
    AttrValue *item = expand_alloc(expansion, 1, sizeof *item);
    if (item == NULL) {
        return expand_no_memory(expansion);
    }
    *item = (AttrValue){.kind = ATTR_FUNCTION, .value.function = {.name = name}};
    *ret_list =
        (AttrValue){.kind = ATTR_FUNCTION, .is_list = true, .value.list = {.count = 1, .items = item}};
    return STATUS_OK;
}

/* Writes a _Branch with one branch, which any index takes. The index is dead where the call is not
 * reached, and so is the call. */
static Status
emit_branch_call(const Scope *scope, const Use *use, const Recursion *called, Slice name)
{
    Expansion *expansion = scope->expansion;
    const FunctionDef *function = called->function;
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
    TRY(list_function(expansion, called->name, &branches));
    const char *op = called->has_state ? "_StateBranch" : "_Branch";
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
list_call_outputs(Expansion *expansion, const Recursion *called, Slice name, Used *used)
{
    const FunctionDef *function = called->function;
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
    Expansion *expansion = scope->expansion;
    Recursion called;
    Slice name;
    assert(recursion_is(scope, function));
    TRY(check_call(scope, use, function));
    TRY(obtain_recursion(expansion, function, &called));
    TRY(expand_part(expansion, use->member->name, use->part[0] == '\0' ? "call" : use->part, &name));
    TRY(emit_branch_call(scope, use, &called, name));
    *ret_used = (Used){.dtypes = NULL};
    TRY(list_call_outputs(expansion, &called, name, ret_used));
    if (!called.has_state) {
        return STATUS_OK;
    }
    TRY(endpoints_new(expansion, 1, &ret_used->effects));
    return expand_control(expansion, name, &ret_used->effects.items[0]);
}
