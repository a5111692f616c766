#include "gateway/expand/loop.h"

#include <assert.h>

#include "gateway/expand/emission.h"
#include "gateway/expand/form.h"

static Status
name_item(const Loop *loop, const char *part, size_t index, Slice *ret_name)
{
    return expand_item(loop->scope->expansion, loop->member->name, part, index, ret_name);
}

static Status
emit_enter(const Loop *loop, const LoopVariable *variable, Slice name)
{
    Emission node;
    TRY(emission_begin(&node, loop->scope, name, "Enter", 2));
    emission_input(&node, variable->initial);
    emission_input(&node, loop->start);
    emission_type(&node, "T", variable->dtype);
    emission_string(&node, "frame_name", loop->member->name);
    emission_bool(&node, "is_constant", variable->is_invariant);
    emission_int(&node, "parallel_iterations", loop->parallel_iterations);
    return emission_end(&node);
}

static Status
enter_variable(Loop *loop, size_t index)
{
    LoopVariable *variable = &loop->variables[index];
    Slice enter;
    TRY(name_item(loop, "enter_", index, &enter));
    TRY(emit_enter(loop, variable, enter));
    if (variable->is_invariant) {
        variable->merged = variable->current = enter;
        return STATUS_OK;
    }
    Emission node;
    TRY(name_item(loop, "merge_", index, &variable->merged));
    TRY(name_item(loop, "next_", index, &variable->back));
    TRY(emission_begin(&node, loop->scope, variable->merged, "Merge", 2));
    emission_input(&node, enter);
    emission_input(&node, variable->back);
    emission_type(&node, "T", variable->dtype);
    emission_int(&node, "N", 2);
    return emission_end(&node);
}

Status
loop_open(
    const Scope *scope, Member *member, const Endpoints *controls, size_t variable_count, Loop *ret_loop)
{
    assert(variable_count > 0);
    *ret_loop = (Loop){.scope = scope,
        .member = member,
        .parallel_iterations = member_int(member, "parallel_iterations", 10),
        .variables = expand_scratch(scope->expansion, variable_count, sizeof *ret_loop->variables),
        .variable_count = variable_count};
    if (ret_loop->variables == NULL) {
        return expand_no_memory(scope->expansion);
    }
    return form_start(scope, member, controls, &ret_loop->start);
}

Status
loop_enter(Loop *loop)
{
    loop->variables[0].is_invariant = false;
    for (size_t index = 0; index < loop->variable_count; index++) {
        TRY(enter_variable(loop, index));
    }
    return expand_control(loop->scope->expansion, loop->variables[0].merged, &loop->condition_pivot);
}

Status
loop_decide(Loop *loop, Slice predicate)
{
    assert(loop->condition_pivot.size > 0);
    Expansion *expansion = loop->scope->expansion;
    Slice decision;
    Emission node;
    TRY(expand_part(expansion, loop->member->name, "decision", &decision));
    TRY(emission_begin(&node, loop->scope, decision, "LoopCond", 1));
    emission_input(&node, predicate);
    TRY(emission_end(&node));
    for (size_t index = 0; index < loop->variable_count; index++) {
        LoopVariable *variable = &loop->variables[index];
        if (!variable->is_invariant) {
            Slice name;
            TRY(name_item(loop, "switch_", index, &name));
            TRY(emit_switch(loop->scope, name, variable->merged, decision, variable->dtype));
            TRY(expand_port(expansion, name, 1, &variable->current));
        }
    }
    Slice pivot;
    TRY(expand_part(expansion, loop->member->name, "pivot", &pivot));
    TRY(emit_identity(loop->scope, pivot, loop->variables[0].current, loop->variables[0].dtype, NULL));
    return expand_control(expansion, pivot, &loop->body_pivot);
}

static Status
emit_loop_op(const Loop *loop, Slice name, const char *op, Slice input, Dtype dtype)
{
    Emission node;
    TRY(emission_begin(&node, loop->scope, name, op, 1));
    emission_input(&node, input);
    emission_type(&node, "T", dtype);
    return emission_end(&node);
}

/* Relies on a Switch's output 0 having the name of the Switch. */
static Status
close_variable(Loop *loop, size_t index, Slice next)
{
    LoopVariable *variable = &loop->variables[index];
    Slice left = slice_part(variable->current, 0, slice_find_last(variable->current, ':'));
    TRY(emit_loop_op(loop, variable->back, "NextIteration", next, variable->dtype));
    if (variable->final.size == 0) {
        TRY(name_item(loop, "exit_", index, &variable->final));
    }
    return emit_loop_op(loop, variable->final, "Exit", left, variable->dtype);
}

/* The last value of an invariant is its first, but has to wait for the loop's end. */
static Status
close_invariant(const Loop *loop, const LoopVariable *variable)
{
    if (variable->final.size == 0) {
        return STATUS_OK;
    }
    Slice control;
    TRY(expand_control(loop->scope->expansion, loop->variables[0].final, &control));
    Endpoints controls = {.items = &control, .count = 1};
    return emit_identity(loop->scope, variable->final, variable->initial, variable->dtype, &controls);
}

Status
loop_close(Loop *loop, const Slice *next)
{
    assert(loop->body_pivot.size > 0);
    for (size_t index = 0; index < loop->variable_count; index++) {
        if (!loop->variables[index].is_invariant) {
            TRY(close_variable(loop, index, next[index]));
        }
    }
    for (size_t index = 0; index < loop->variable_count; index++) {
        if (loop->variables[index].is_invariant) {
            TRY(close_invariant(loop, &loop->variables[index]));
        }
    }
    return STATUS_OK;
}
