/* While: its condition and its body in the frame of a loop. */
#include "gateway/expand/emission.h"
#include "gateway/expand/form.h"
#include "gateway/expand/loop.h"

Status
while_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const AttrValue *types = member_attr(member, "T");
    if (types == NULL || !types->is_list || types->value.list.count == 0) {
        return expand_fail(scope, member, "attribute 'T' lists no variables");
    }
    *ret_count = types->value.list.count;
    return STATUS_OK;
}

/* Slices by name: the inputs of a body's Identities, and the values that it returns. */
typedef struct Body {
    Map *identities;
    Map *returns;
} Body;

static bool
is_identity(const NodeDef *node)
{
    return slice_equals_string(node->op, "Identity") && node->input_count == 1;
}

static bool
remember_value(Map *map, Slice name, Slice value, Slice *memory)
{
    *memory = value;
    return map_put(map, name, memory);
}

static Status
index_body(const Scope *scope, const FunctionDef *function, const Body *body)
{
    Slice *memory =
        expand_scratch(scope->expansion, function->node_count + function->return_count, sizeof *memory);
    bool is_ok = memory != NULL && body->identities != NULL && body->returns != NULL;
    for (size_t index = 0; is_ok && index < function->node_count; index++) {
        const NodeDef *node = &function->nodes[index];
        is_ok = !is_identity(node) || remember_value(body->identities, node->name, node->inputs[0], memory++);
    }
    for (size_t index = 0; is_ok && index < function->return_count; index++) {
        const FunctionReturn *given = &function->returns[index];
        is_ok = remember_value(body->returns, given->name, given->value, memory++);
    }
    return is_ok ? STATUS_OK : expand_no_memory(scope->expansion);
}

/* Returns true when the function's output is its argument at the same position, perhaps by way of a few
 * Identities. */
static bool
hands_on(const FunctionDef *function, const Body *body, size_t index)
{
    enum { HOPS_MAX = 16 };
    Slice argument = function->inputs[index].name;
    const Slice *value = map_get(body->returns, function->outputs[index].name);
    for (int hop = 0; value != NULL && hop < HOPS_MAX; hop++) {
        Slice name = slice_part(*value, 0, slice_find(*value, ':'));
        if (slice_equal(name, argument)) {
            return true;
        }
        value = map_get(body->identities, name);
    }
    return false;
}

static bool
has_lists(const FunctionArgument *arguments, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        if (arguments[index].number_attr.size > 0 || arguments[index].type_list_attr.size > 0) {
            return true;
        }
    }
    return false;
}

static Status
find_invariants(const Scope *scope, Loop *loop)
{
    const AttrValue *body = member_attr(loop->member, "body");
    bool is_named = body != NULL && body->kind == ATTR_FUNCTION && !body->is_list;
    const FunctionDef *function =
        is_named ? map_get(scope->expansion->functions, body->value.function.name) : NULL;
    if (function == NULL || function->input_count != loop->variable_count ||
        function->output_count != loop->variable_count ||
        has_lists(function->inputs, function->input_count)) {
        return STATUS_OK;
    }
    AUTO_MAP identities = map_new();
    AUTO_MAP returns = map_new();
    Body named = {.identities = identities, .returns = returns};
    TRY(index_body(scope, function, &named));
    for (size_t index = 0; index < loop->variable_count; index++) {
        loop->variables[index].is_invariant = hands_on(function, &named, index);
    }
    return STATUS_OK;
}

static Status
open_while(Scope *scope, Member *member, Loop *ret_loop)
{
    Endpoints data;
    Endpoints controls;
    TRY(resolve_inputs(scope, member, &data, &controls));
    if (data.count != member->outputs.count) {
        return expand_fail(
            scope, member, "has %zu inputs, its attribute 'T' lists %zu", data.count, member->outputs.count);
    }
    TRY(loop_open(scope, member, &controls, data.count, ret_loop));
    for (size_t index = 0; index < data.count; index++) {
        ret_loop->variables[index] = (LoopVariable){.initial = data.items[index],
            .dtype = member_type(member, "T", index),
            .final = member->outputs.items[index]};
    }
    return find_invariants(scope, ret_loop);
}

static Status
variable_list(const Loop *loop, bool is_body, Endpoints *ret_list)
{
    TRY(endpoints_new(loop->scope->expansion, loop->variable_count, ret_list));
    for (size_t index = 0; index < loop->variable_count; index++) {
        ret_list->items[index] = is_body ? loop->variables[index].current : loop->variables[index].merged;
    }
    return STATUS_OK;
}

static Status
use_while_condition(Loop *loop, bool *has_effects, Slice *ret_predicate)
{
    Endpoints arguments;
    Used used;
    TRY(variable_list(loop, false, &arguments));
    Use use = {.member = loop->member,
        .part = "cond",
        .pivot = loop->condition_pivot,
        .arguments = &arguments,
        .only_asked = member_wants_lowering(loop->member)};
    TRY(expand_use_attr(loop->scope, use, "cond", &used));
    if (used.outputs.count != 1) {
        return expand_fail(
            loop->scope, loop->member, "its condition has %zu outputs, expected 1", used.outputs.count);
    }
    *has_effects |= used.effects.count > 0;
    *ret_predicate = used.outputs.items[0];
    if (used.dtypes[0] == DTYPE_BOOL) {
        return STATUS_OK;
    }
    Emission node;
    TRY(expand_part(loop->scope->expansion, loop->member->name, "is_true", ret_predicate));
    TRY(emission_begin(&node, loop->scope, *ret_predicate, "ToBool", 1));
    emission_input(&node, used.outputs.items[0]);
    emission_type(&node, "T", used.dtypes[0]);
    return emission_end(&node);
}

static Status
use_while_body(Loop *loop, bool *has_effects, Used *ret_used)
{
    Endpoints arguments;
    TRY(variable_list(loop, true, &arguments));
    Use use = {.member = loop->member,
        .part = "body",
        .pivot = loop->body_pivot,
        .arguments = &arguments,
        .only_asked = member_wants_lowering(loop->member)};
    TRY(expand_use_attr(loop->scope, use, "body", ret_used));
    *has_effects |= ret_used->effects.count > 0;
    if (ret_used->outputs.count == loop->variable_count) {
        return STATUS_OK;
    }
    return expand_fail(loop->scope, loop->member, "its body has %zu outputs, expected %zu",
        ret_used->outputs.count, loop->variable_count);
}

Status
while_expand(Scope *scope, Member *member)
{
    Loop loop;
    Slice predicate;
    Used body;
    TRY(open_while(scope, member, &loop));
    TRY(loop_enter(&loop));
    TRY(use_while_condition(&loop, &member->has_effects, &predicate));
    TRY(loop_decide(&loop, predicate));
    TRY(use_while_body(&loop, &member->has_effects, &body));
    TRY(loop_close(&loop, body.outputs.items));
    Endpoints none = {.count = 0};
    return form_finish(scope, member, &none);
}
