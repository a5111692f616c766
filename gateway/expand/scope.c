/* One use of a function:
 *
 *   1. The function is found and its arguments are counted.
 *   2. Members get names and attributes; those that stand for more, names for their outputs.
 *   3. Every member is written: the node itself, or what it stands for.
 *   4. Effects are collected, and outputs made to wait for them. */
#include <assert.h>

#include "gateway/expand/emission.h"
#include "gateway/expand/recursion.h"
#include "gateway/expand/scope.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"

static const char *
member_pointer(const Scope *scope, size_t index)
{
    Arena *arena = scope->expansion->def->arena;
    if (scope->function == NULL) {
        return text_format(arena, "/node/%zu", index);
    }
    return text_format(arena, "/library/function/%zu/nodeDef/%zu",
        (size_t)(scope->function - scope->expansion->library), index);
}

/* Nodes of the graph itself keep their names, even wrong ones: the linker judges them. */
static Status
name_member(const Scope *scope, Member *member)
{
    Expansion *expansion = scope->expansion;
    member->name = member->def->name;
    if (scope->function == NULL) {
        Slice ignored;
        return map_get(expansion->names, member->name) == NULL
                   ? expand_name(expansion, member->name, &ignored)
                   : STATUS_OK;
    }
    const char *text =
        text_format(expansion->def->arena, "%.*s/%.*s", SLICE_PRINT(scope->path), SLICE_PRINT(member->name));
    return text == NULL ? expand_no_memory(expansion)
                        : expand_name(expansion, slice_from_string(text), &member->name);
}

static Status
add_member(Scope *scope, const NodeDef *def, size_t index)
{
    Member *member = &scope->members[index];
    *member = (Member){.def = def,
        .form = expand_form(scope->expansion, def->op),
        .pointer = def->pointer != NULL ? def->pointer : member_pointer(scope, index)};
    if (member->pointer == NULL) {
        return expand_no_memory(scope->expansion);
    }
    TRY(name_member(scope, member));
    bool is_first = map_get(scope->by_name, def->name) == NULL;
    return !is_first || map_put(scope->by_name, def->name, member) ? STATUS_OK
                                                                   : expand_no_memory(scope->expansion);
}

static Status
name_outputs(const Scope *scope, Member *member)
{
    size_t count = 0;
    TRY(member->form->count_outputs(scope, member, &count));
    TRY(endpoints_new(scope->expansion, count, &member->outputs));
    for (size_t index = 0; index < count; index++) {
        TRY(expand_item(scope->expansion, member->name, "output_", index, &member->outputs.items[index]));
    }
    return STATUS_OK;
}

Status
scope_open(Scope *scope, const NodeDef *nodes, size_t node_count)
{
    Expansion *expansion = scope->expansion;
    assert(scope->by_name == NULL);
    scope->members = expand_scratch(expansion, node_count, sizeof *scope->members);
    scope->by_name = expand_map(expansion);
    if (scope->members == NULL || scope->by_name == NULL) {
        return expand_no_memory(expansion);
    }
    scope->member_count = node_count;
    for (size_t index = 0; index < node_count; index++) {
        TRY(add_member(scope, &nodes[index], index));
    }
    for (size_t index = 0; index < node_count; index++) {
        Member *member = &scope->members[index];
        TRY(bind_attrs(scope, member));
        TRY(member->form == NULL ? STATUS_OK : name_outputs(scope, member));
    }
    return STATUS_OK;
}

static Slice
member_device(const Scope *scope, const Member *member)
{
    return member->def->device.size > 0 ? member->def->device : scope->device;
}

static bool
has_value(const Endpoints *inputs)
{
    for (size_t index = 0; index < inputs->count; index++) {
        if (inputs->items[index].size > 0) {
            return true;
        }
    }
    return false;
}

static bool
waits_for_member(const Scope *scope, const Member *member)
{
    for (size_t index = 0; index < member->def->input_count; index++) {
        Slice text = member->def->inputs[index];
        if (slice_starts_with(text, SLICE("^")) &&
            map_get(scope->by_name, slice_part(text, 1, SIZE_MAX)) != NULL) {
            return true;
        }
    }
    return false;
}

/* A node of a body without data inputs waits for the pivot, since nothing else tells whether the body is
 * reached. One that waits for another node of the body does not: it may be inside a loop, where the pivot
 * has no value. */
static Status
write_inputs(const Scope *scope, const Member *member, NodeDef *def)
{
    Endpoints data;
    Endpoints controls;
    TRY(resolve_inputs(scope, member, &data, &controls));
    size_t count = data.count + controls.count;
    Slice *inputs = expand_alloc(scope->expansion, count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return expand_no_memory(scope->expansion);
    }
    for (size_t index = 0; index < count; index++) {
        inputs[index] = index < data.count ? data.items[index] : controls.items[index - data.count];
    }
    def->inputs = inputs;
    def->input_count = count;
    if (scope->pivot.size > 0 && !has_value(&data) && !waits_for_member(scope, member)) {
        inputs[def->input_count++] = scope->pivot;
    }
    return STATUS_OK;
}

static Status
write_plain(const Scope *scope, const Member *member)
{
    NodeDef def = {.name = member->name,
        .op = member->def->op,
        .device = member_device(scope, member),
        .attrs = member->attrs,
        .attr_count = member->attr_count,
        .pointer = member->pointer};
    TRY(write_inputs(scope, member, &def));
    return expand_emit(scope->expansion, &def);
}

Status
scope_write(Scope *scope)
{
    assert(scope->by_name != NULL);
    for (size_t index = 0; index < scope->member_count; index++) {
        Member *member = &scope->members[index];
        if (member->form == NULL) {
            TRY(write_plain(scope, member));
            continue;
        }
        Scope around = *scope;
        around.device = member_device(scope, member);
        around.within = member->name;
        TRY(member->form->expand(&around, member));
    }
    return STATUS_OK;
}

/* Returns true for ops that are stateful in TensorFlow, but leave no trace when they run. */
static bool
only_reads(Slice op)
{
    static const char *const reads[] = {"ReadVariableOp", "VarHandleOp", "VarIsInitializedOp", "Variable",
        "VariableV2", "IsVariableInitialized", "ResourceGather", "Placeholder"};
    for (size_t index = 0; index < COUNT_OF(reads); index++) {
        if (slice_equals_string(op, reads[index])) {
            return true;
        }
    }
    return false;
}

static bool
has_effect(const Member *member)
{
    if (member->form != NULL) {
        return member->has_effects;
    }
    const Op *op = op_find(member->def->op);
    bool is_stateful = op != NULL && (op->flags & (OP_STATEFUL | OP_STEP_LOCAL)) == OP_STATEFUL;
    return (member->is_asked || is_stateful) && !only_reads(member->def->op);
}

static Status
mark_asked(const Scope *scope)
{
    const FunctionDef *function = scope->function;
    for (size_t index = 0; index < function->control_return_count; index++) {
        Slice name = function->control_returns[index].value;
        Member *member = map_get(scope->by_name, name);
        if (member == NULL) {
            return call_fail(scope->expansion->call, STATUS_INVALID_ARGUMENT,
                "function '%.*s' has no node '%.*s' for its control output", SLICE_PRINT(function->name),
                SLICE_PRINT(slice_part(name, 0, 128)));
        }
        member->is_asked = true;
    }
    return STATUS_OK;
}

static Status
collect_effects(const Scope *scope, bool only_asked, Endpoints *ret_effects)
{
    TRY(mark_asked(scope));
    TRY(endpoints_new(scope->expansion, scope->member_count, ret_effects));
    ret_effects->count = 0;
    for (size_t index = 0; index < scope->member_count; index++) {
        const Member *member = &scope->members[index];
        if (has_effect(member) && (member->is_asked || !only_asked)) {
            Slice *effect = &ret_effects->items[ret_effects->count++];
            TRY(expand_control(scope->expansion, member->name, effect));
        }
    }
    return STATUS_OK;
}

/* Replaces several control inputs by one. */
static Status
join_effects(const Scope *scope, Endpoints *effects)
{
    if (effects->count < 2) {
        return STATUS_OK;
    }
    Slice name;
    TRY(expand_part(scope->expansion, scope->path, "effects", &name));
    TRY(emit_no_op(scope, name, effects));
    effects->count = 1;
    return expand_control(scope->expansion, name, &effects->items[0]);
}

static Status
find_return(const Scope *scope, const Member *user, Slice output, Slice *ret_value)
{
    const FunctionNames *names = expand_function_names(scope->expansion, scope->function);
    if (names == NULL) {
        return expand_no_memory(scope->expansion);
    }
    size_t position = 0;
    if (!function_names_find(names, names->returns, output, &position)) {
        return expand_fail(scope, user, "function '%.*s' does not say what its output '%.*s' is",
            SLICE_PRINT(scope->function->name), SLICE_PRINT(output));
    }
    *ret_value = scope->function->returns[position].value;
    return STATUS_OK;
}

static Status
add_output(const Scope *scope, const Member *user, Slice value, size_t offset, Dtype dtype, Used *used)
{
    Slice *endpoint = &used->outputs.items[used->outputs.count];
    TRY(resolve_reference(scope, user, value, offset, endpoint));
    used->dtypes[used->outputs.count++] = dtype;
    if (used->effects.count == 0) {
        return STATUS_OK;
    }
    Slice name;
    TRY(expand_item(scope->expansion, scope->path, "after_effects_", used->outputs.count - 1, &name));
    TRY(emit_identity(scope, name, *endpoint, dtype, &used->effects));
    *endpoint = name;
    return STATUS_OK;
}

static Status
collect_outputs(const Scope *scope, const Member *user, Used *used)
{
    const FunctionDef *function = scope->function;
    size_t total = 0;
    for (size_t index = 0; index < function->output_count; index++) {
        size_t count = 0;
        TRY(argument_size(scope, &function->outputs[index], &count));
        total += count;
    }
    TRY(endpoints_new(scope->expansion, total, &used->outputs));
    used->dtypes = expand_scratch(scope->expansion, total, sizeof *used->dtypes);
    if (used->dtypes == NULL) {
        return expand_no_memory(scope->expansion);
    }
    used->outputs.count = 0;
    for (size_t index = 0; index < function->output_count; index++) {
        const FunctionArgument *output = &function->outputs[index];
        size_t count = 0;
        Slice value = {0};
        TRY(argument_size(scope, output, &count));
        TRY(find_return(scope, user, output->name, &value));
        for (size_t item = 0; item < count; item++) {
            TRY(add_output(scope, user, value, item, argument_type(scope, output, item), used));
        }
    }
    return STATUS_OK;
}

static Status
check_depth(const Scope *scope, const Member *member)
{
    if (scope->depth >= EXPAND_DEPTH_MAX) {
        return expand_fail(scope, member, "functions nest more than %d deep", EXPAND_DEPTH_MAX);
    }
    return STATUS_OK;
}

static Status
count_arguments(Scope *inner, const Member *member)
{
    const FunctionDef *function = inner->function;
    inner->argument_starts =
        expand_scratch(inner->expansion, function->input_count + 1, sizeof *inner->argument_starts);
    if (inner->argument_starts == NULL) {
        return expand_no_memory(inner->expansion);
    }
    size_t total = 0;
    for (size_t index = 0; index < function->input_count; index++) {
        size_t count = 0;
        inner->argument_starts[index] = total;
        TRY(argument_size(inner, &function->inputs[index], &count));
        total += count;
    }
    if (total == inner->arguments.count) {
        return STATUS_OK;
    }
    return expand_fail(inner, member, "gives function '%.*s' %zu argument%s, it takes %zu",
        SLICE_PRINT(function->name), inner->arguments.count, inner->arguments.count == 1 ? "" : "s", total);
}

static Status
use_path(const Scope *scope, const Use *use, Slice *ret_path)
{
    *ret_path = use->member->name;
    return use->part[0] == '\0' ? STATUS_OK
                                : expand_part(scope->expansion, use->member->name, use->part, ret_path);
}

Status
expand_use(const Scope *scope, const Use *use, Used *ret_used)
{
    const FunctionDef *function = NULL;
    assert(use->member != NULL && use->part != NULL && use->arguments != NULL);
    TRY(expand_function(scope, use->member, use->function, &function));
    if (recursion_is(scope, function)) {
        return recursion_use(scope, use, function, ret_used);
    }
    TRY(check_depth(scope, use->member));
    Scope inner = {.expansion = scope->expansion,
        .caller = scope,
        .function = function,
        .depth = scope->depth + 1,
        .device = scope->device,
        .pivot = use->pivot,
        .attrs = use->attrs,
        .attr_count = use->attr_count,
        .arguments = *use->arguments};
    TRY(use_path(scope, use, &inner.path));
    TRY(count_arguments(&inner, use->member));
    TRY(scope_open(&inner, function->nodes, function->node_count));
    TRY(scope_write(&inner));
    *ret_used = (Used){.dtypes = NULL};
    TRY(collect_effects(&inner, use->only_asked, &ret_used->effects));
    TRY(join_effects(&inner, &ret_used->effects));
    return collect_outputs(&inner, use->member, ret_used);
}

Status
expand_use_attr(const Scope *scope, Use use, const char *attr, Used *ret_used)
{
    const FunctionRef *function = NULL;
    TRY(member_function_ref(scope, use.member, attr, &function));
    use.function = function->name;
    use.attrs = function->attrs;
    use.attr_count = function->attr_count;
    return expand_use(scope, &use, ret_used);
}

Status
expand_use_body(const Scope *scope, Use use, const FunctionDef *body, Used *ret_used)
{
    use.part = "body";
    TRY(expand_use_attr(scope, use, use.part, ret_used));
    if (ret_used->outputs.count == body->output_count) {
        return STATUS_OK;
    }
    return expand_fail(scope, use.member, "its body gives %zu values for %zu outputs",
        ret_used->outputs.count, body->output_count);
}
