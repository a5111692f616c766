/* If and Case become a chain of tests. Each test sends the arguments to its branch or on to the next test;
 * the last branch gets what is left. A Merge for each output passes on the value of the branch that ran.
 *
 *     test b:    Switch(value, predicate b):1 → branch b, :0 → test b + 1
 *     If:        predicate 0 is the condition, the branches are then, else
 *     Case:      predicate b is index == b, so that an index out of range takes the last branch */
#include <assert.h>

#include "gateway/expand/emission.h"
#include "gateway/expand/form.h"
#include "shared/base/text.h"

typedef struct Branching {
    Scope *scope;
    Member *member;
    Slice call;        /* name that one call in place of all these nodes may have (gateway/plan/outline.h) */
    bool is_lazy;      /* the author asks for a call */
    Endpoints rest;    /* arguments that no test has taken yet */
    const char *types; /* name of the attribute that lists their dtypes */
    size_t branch_count;
    Slice index;     /* of Case: the branch's number, passed on from test to test like the arguments */
    Slice predicate; /* of If */
    Slice start;     /* control input that the node waits for; "" for none */
    Used *used;      /* by branch */
    Slice *pivots;   /* by branch: an endpoint that has a value when the branch runs */
    const FunctionRef **functions;
    const char **parts;
} Branching;

Status
branch_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const AttrValue *types = member_attr(member, "Tout");
    if (types == NULL || !types->is_list) {
        return expand_fail(scope, member, "attribute 'Tout' is missing");
    }
    *ret_count = types->value.list.count;
    return STATUS_OK;
}

static Status
name_part(const Branching *branching, const char *part, size_t index, Slice *ret_name)
{
    return expand_item(branching->scope->expansion, branching->member->name, part, index, ret_name);
}

static Status
test_predicate(Branching *branching, size_t branch, Slice *ret_predicate)
{
    if (branching->index.size == 0) {
        *ret_predicate = branching->predicate;
        return STATUS_OK;
    }
    Slice constant;
    Emission node;
    TRY(name_part(branching, "number_", branch, &constant));
    TRY(emit_int(branching->scope, constant, DTYPE_INT32, (int64_t)branch));
    TRY(name_part(branching, "is_", branch, ret_predicate));
    TRY(emission_begin(&node, branching->scope, *ret_predicate, "Equal", 2));
    emission_input(&node, branching->index);
    emission_input(&node, constant);
    emission_type(&node, "T", DTYPE_INT32);
    return emission_end(&node);
}

/* A predicate and the branch that it decides about. */
typedef struct Test {
    size_t branch;
    Slice predicate;
} Test;

/* Writes a Switch that gives the value to the branch; *rest becomes what the next test gets. The marks
 * tell the planner which nodes belong together, so that it may call the branches instead. */
static Status
emit_test_switch(
    const Branching *branching, Slice name, const Test *test, Dtype dtype, Slice *ret_taken, Slice *rest)
{
    Emission node;
    TRY(emission_begin(&node, branching->scope, name, "Switch", 2));
    emission_input(&node, *rest);
    emission_input(&node, test->predicate);
    emission_type(&node, "T", dtype);
    emission_string(&node, "_branching", branching->call);
    emission_int(&node, "_test", (int64_t)test->branch);
    if (branching->is_lazy) {
        emission_bool(&node, "_is_lazy", true);
    }
    TRY(emission_end(&node));
    TRY(expand_port(branching->scope->expansion, name, 1, ret_taken));
    *rest = name;
    return STATUS_OK;
}

/* Writes an Identity behind one side of Switch(predicate, predicate). */
static Status
add_pivot(Branching *branching, size_t branch, Slice side)
{
    TRY(name_part(branching, "pivot_", branch, &branching->pivots[branch]));
    return emit_identity(branching->scope, branching->pivots[branch], side, DTYPE_BOOL, NULL);
}

static Status
divide_arguments(Branching *branching, const Test *test, Endpoints *ret_taken)
{
    TRY(endpoints_new(branching->scope->expansion, branching->rest.count, ret_taken));
    for (size_t index = 0; index < branching->rest.count; index++) {
        Slice name;
        TRY(name_part(branching, test->branch == 0 ? "switch_" : "switch_on_", index, &name));
        TRY(emit_test_switch(branching, name, test, member_type(branching->member, branching->types, index),
            &ret_taken->items[index], &branching->rest.items[index]));
    }
    return STATUS_OK;
}

static Status
take_branch(Branching *branching, size_t branch, const Endpoints *arguments)
{
    const Scope *scope = branching->scope;
    const FunctionRef *function = branching->functions[branch];
    Slice pivot = branching->start.size > 0 ? branching->start : scope->pivot;
    if (branching->pivots[branch].size > 0) {
        TRY(expand_control(scope->expansion, branching->pivots[branch], &pivot));
    }
    Use use = {.member = branching->member,
        .function = function->name,
        .attrs = function->attrs,
        .attr_count = function->attr_count,
        .part = branching->parts[branch],
        .pivot = pivot,
        .arguments = arguments,
        .only_asked = member_wants_lowering(branching->member)};
    TRY(expand_use(scope, &use, &branching->used[branch]));
    if (branching->used[branch].outputs.count == branching->member->outputs.count) {
        return STATUS_OK;
    }
    return expand_fail(scope, branching->member, "function '%.*s' has %zu outputs, the node has %zu",
        SLICE_PRINT(function->name), branching->used[branch].outputs.count, branching->member->outputs.count);
}

static Status
test_branch(Branching *branching, size_t branch, Slice *ret_other_side)
{
    Test test = {.branch = branch};
    Slice taken;
    Slice name;
    Endpoints arguments;
    TRY(test_predicate(branching, branch, &test.predicate));
    TRY(name_part(branching, "test_", branch, &name));
    *ret_other_side = test.predicate;
    TRY(emit_test_switch(branching, name, &test, DTYPE_BOOL, &taken, ret_other_side));
    TRY(add_pivot(branching, branch, taken));
    TRY(divide_arguments(branching, &test, &arguments));
    if (branching->index.size > 0) {
        TRY(name_part(branching, "index_", branch, &name));
        TRY(emit_test_switch(branching, name, &test, DTYPE_INT32, &taken, &branching->index));
    }
    return take_branch(branching, branch, &arguments);
}

static Status
emit_merge(const Branching *branching, Slice name, const Slice *values, Dtype dtype)
{
    Emission node;
    TRY(emission_begin(&node, branching->scope, name, "Merge", branching->branch_count));
    for (size_t branch = 0; branch < branching->branch_count; branch++) {
        emission_input(&node, values[branch]);
    }
    emission_type(&node, "T", dtype);
    emission_int(&node, "N", (int64_t)branching->branch_count);
    if (branching->branch_count > 1) {
        emission_string(&node, "_branching", branching->call);
    }
    return emission_end(&node);
}

static Status
merge_outputs(const Branching *branching)
{
    const Member *member = branching->member;
    Slice *values = expand_scratch(branching->scope->expansion, branching->branch_count, sizeof *values);
    if (values == NULL) {
        return expand_no_memory(branching->scope->expansion);
    }
    for (size_t index = 0; index < member->outputs.count; index++) {
        for (size_t branch = 0; branch < branching->branch_count; branch++) {
            values[branch] = branching->used[branch].outputs.items[index];
        }
        TRY(emit_merge(branching, member->outputs.items[index], values, member_type(member, "Tout", index)));
    }
    return STATUS_OK;
}

/* Returns a control input that waits until the branch that was taken is done, for nodes that wait for the
 * If or Case. */
static Status
merge_pivots(const Branching *branching, Slice *ret_control)
{
    Expansion *expansion = branching->scope->expansion;
    Slice *values = expand_scratch(expansion, branching->branch_count, sizeof *values);
    if (values == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t branch = 0; branch < branching->branch_count; branch++) {
        TRY(name_part(branching, "done_", branch, &values[branch]));
        TRY(emit_identity(branching->scope, values[branch], branching->pivots[branch], DTYPE_BOOL,
            &branching->used[branch].effects));
    }
    Slice name;
    TRY(expand_part(expansion, branching->member->name, "done", &name));
    TRY(emit_merge(branching, name, values, DTYPE_BOOL));
    return expand_control(expansion, name, ret_control);
}

static Status
finish_branching(Branching *branching)
{
    Member *member = branching->member;
    for (size_t branch = 0; branch < branching->branch_count; branch++) {
        member->has_effects |= branching->used[branch].effects.count > 0;
    }
    TRY(merge_outputs(branching));
    Slice done;
    Endpoints controls = {.items = &done};
    if (branching->branch_count == 1) {
        controls = branching->used[0].effects;
    } else if (member->has_effects || member->outputs.count == 0) {
        TRY(merge_pivots(branching, &done));
        controls.count = 1;
    }
    return form_finish(branching->scope, member, &controls);
}

static Status
begin_branching(Branching *branching, Scope *scope, Member *member, size_t branch_count)
{
    Expansion *expansion = scope->expansion;
    *branching = (Branching){.scope = scope,
        .member = member,
        .types = "Tin",
        .branch_count = branch_count,
        .used = expand_scratch(expansion, branch_count, sizeof *branching->used),
        .pivots = expand_scratch(expansion, branch_count, sizeof *branching->pivots),
        .functions = expand_scratch(expansion, branch_count, sizeof *branching->functions),
        .parts = expand_scratch(expansion, branch_count, sizeof *branching->parts)};
    bool is_all = branching->used != NULL && branching->pivots != NULL && branching->functions != NULL &&
                  branching->parts != NULL;
    const AttrValue *lowers = member_attr(member, "_lower_using_switch_merge");
    branching->is_lazy = lowers != NULL && lowers->kind == ATTR_BOOL && !lowers->value.b;
    return is_all ? expand_part(expansion, member->name, "call", &branching->call)
                  : expand_no_memory(expansion);
}

static Status
expand_branches(Branching *branching)
{
    assert(branching->branch_count > 0);
    Slice other_side = SLICE("");
    size_t last = branching->branch_count - 1;
    for (size_t branch = 0; branch < last; branch++) {
        TRY(test_branch(branching, branch, &other_side));
    }
    if (other_side.size > 0) {
        TRY(add_pivot(branching, last, other_side));
    }
    for (size_t index = 0; last == 0 && index < branching->rest.count; index++) {
        TRY(form_gate(branching->scope, branching->member, branching->start, index,
            member_type(branching->member, branching->types, index), &branching->rest.items[index]));
    }
    TRY(take_branch(branching, last, &branching->rest));
    return finish_branching(branching);
}

/* Returns the node's first input, which must be a scalar, behind the node's control inputs. The other
 * inputs become the arguments. */
static Status
read_first(Branching *branching, Dtype dtype, Slice *ret_first)
{
    const Member *member = branching->member;
    Scope *scope = branching->scope;
    Endpoints controls;
    TRY(resolve_inputs(scope, member, &branching->rest, &controls));
    if (branching->rest.count == 0) {
        return expand_fail(scope, member, "has no input that says which branch to take");
    }
    TRY(form_start(scope, member, &controls, &branching->start));
    *ret_first = *branching->rest.items++;
    branching->rest.count--;
    if (branching->start.size == 0) {
        return STATUS_OK;
    }
    Slice input = *ret_first;
    Endpoints waits = {.items = &branching->start, .count = 1};
    TRY(expand_part(scope->expansion, member->name, "predicate", ret_first));
    return emit_identity(scope, *ret_first, input, dtype, &waits);
}

/* Writes the op that decides as TensorFlow does whether a number, a string or a tensor is true. */
static Status
make_bool(Branching *branching, Dtype dtype)
{
    if (dtype == DTYPE_BOOL) {
        return STATUS_OK;
    }
    Emission node;
    Slice name;
    TRY(expand_part(branching->scope->expansion, branching->member->name, "is_true", &name));
    TRY(emission_begin(&node, branching->scope, name, "ToBool", 1));
    emission_input(&node, branching->predicate);
    emission_type(&node, "T", dtype);
    branching->predicate = name;
    return emission_end(&node);
}

static Status
begin_if(Branching *branching, Scope *scope, Member *member, Dtype dtype)
{
    TRY(begin_branching(branching, scope, member, 2));
    TRY(member_function_ref(branching->scope, branching->member, "then_branch", &branching->functions[0]));
    TRY(member_function_ref(branching->scope, branching->member, "else_branch", &branching->functions[1]));
    branching->parts[0] = "then";
    branching->parts[1] = "else";
    return read_first(branching, dtype, &branching->predicate);
}

Status
if_expand(Scope *scope, Member *member)
{
    Branching branching;
    const AttrValue *type = member_attr(member, "Tcond");
    Dtype dtype = type == NULL ? DTYPE_BOOL : type->value.type;
    TRY(begin_if(&branching, scope, member, dtype));
    TRY(make_bool(&branching, dtype));
    return expand_branches(&branching);
}

Status
onnx_if_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    const FunctionDef *function = NULL;
    TRY(member_function(scope, member, "then_branch", &function));
    *ret_count = function->output_count;
    return STATUS_OK;
}

/* ONNX takes a condition of one element of any rank, and leaves dtypes to the linker. */
Status
onnx_if_expand(Scope *scope, Member *member)
{
    Branching branching;
    TRY(begin_if(&branching, scope, member, DTYPE_BOOL));
    TRY(emit_scalar(scope, "condition", branching.predicate, DTYPE_BOOL, &branching.predicate));
    return expand_branches(&branching);
}

Status
case_expand(Scope *scope, Member *member)
{
    Branching branching;
    const AttrValue *list = member_attr(member, "branches");
    if (list == NULL || list->kind != ATTR_FUNCTION || !list->is_list || list->value.list.count == 0) {
        return expand_fail(scope, member, "attribute 'branches' names no functions");
    }
    TRY(begin_branching(&branching, scope, member, list->value.list.count));
    for (size_t branch = 0; branch < branching.branch_count; branch++) {
        branching.functions[branch] = &list->value.list.items[branch].value.function;
        branching.parts[branch] = text_format(scope->expansion->call->arena, "branch_%zu", branch);
        if (branching.parts[branch] == NULL) {
            return expand_no_memory(scope->expansion);
        }
    }
    TRY(read_first(&branching, DTYPE_INT32, &branching.index));
    return expand_branches(&branching);
}
