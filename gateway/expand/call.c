/* Calls: the body in their place. A call that waits for others does so with all of its body. */
#include "gateway/expand/expansion.h"

/* --- What forms share ----------------------------------------------------------------------------------- */

Status
expand_start(const Scope *scope, const Member *member, const Endpoints *controls, Slice *ret_control)
{
    *ret_control = controls->count == 0 ? SLICE("") : controls->items[0];
    if (controls->count == 0 || (controls->count == 1 && scope->pivot.size == 0)) {
        return STATUS_OK;
    }
    Slice name;
    TRY(expand_part(scope->expansion, member->name, "start", &name));
    TRY(emit_no_op(scope, name, controls));
    return expand_control(scope->expansion, name, ret_control);
}

Status
expand_gate(const Scope *scope, const Member *member, Slice start, size_t index, Dtype dtype, Slice *argument)
{
    if (start.size == 0) {
        return STATUS_OK;
    }
    const Endpoints controls = {.items = &start, .count = 1};
    const Slice input = *argument;
    TRY(expand_item(scope->expansion, member->name, "input_", index, argument));
    return emit_identity(scope, *argument, input, dtype, &controls);
}

static Status
list_outputs(const Expansion *expansion, const Member *member, AttrValue *ret_value)
{
    AttrValue *const items = expand_alloc(expansion, member->outputs.count, sizeof *items);
    if (items == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < member->outputs.count; index++) {
        items[index] = (AttrValue){.kind = ATTR_STRING, .value.s = member->outputs.items[index]};
    }
    *ret_value = (AttrValue){
        .kind = ATTR_STRING, .is_list = true, .value.list = {.count = member->outputs.count, .items = items}};
    return STATUS_OK;
}

Status
expand_finish(Scope *scope, Member *member, const Endpoints *controls)
{
    AttrValue outputs;
    TRY(list_outputs(scope->expansion, member, &outputs));
    Emission node;
    TRY(emission_begin(&node, scope, member->name, "NoOp", member->outputs.count + controls->count + 1));
    for (size_t index = 0; index < member->outputs.count; index++) {
        Slice control;
        TRY(expand_control(scope->expansion, member->outputs.items[index], &control));
        emission_input(&node, control);
    }
    emission_inputs(&node, controls);
    if (node.def.input_count == 0) {
        emission_input(&node, scope->pivot);
    }
    emission_value(&node, "_outputs", outputs);
    node.def.pointer = member->pointer;
    return emission_end(&node);
}

/* --- Calls ---------------------------------------------------------------------------------------------- */

static bool
is_by_name(const Member *member)
{
    return member->form->op == NULL;
}

static Status
called_function(const Scope *scope, const Member *member, Scope *ret_inner)
{
    const AttrValue *const value = is_by_name(member) ? NULL : member_attr(member, "f");
    const bool is_function = value != NULL && value->kind == ATTR_FUNCTION && !value->is_list;
    if (!is_by_name(member) && !is_function) {
        return expand_fail(scope, member, "attribute 'f' names no function");
    }
    *ret_inner = (Scope){.expansion = scope->expansion,
        .attrs = is_function ? value->value.function.attrs : member->attrs,
        .attr_count = is_function ? value->value.function.attr_count : member->attr_count};
    return expand_function(
        scope, member, is_function ? value->value.function.name : member->def->op, &ret_inner->function);
}

Status
call_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    Scope inner;
    TRY(called_function(scope, member, &inner));
    *ret_count = 0;
    for (size_t index = 0; index < inner.function->output_count; index++) {
        size_t count = 0;
        TRY(argument_size(&inner, &inner.function->outputs[index], &count));
        *ret_count += count;
    }
    return STATUS_OK;
}

static Status
gate_arguments(const Scope *inner, const Member *member, const Scope *scope, Slice start, Endpoints *data)
{
    size_t position = 0;
    for (size_t index = 0; index < inner->function->input_count; index++) {
        const FunctionArgument *const input = &inner->function->inputs[index];
        size_t count = 0;
        TRY(argument_size(inner, input, &count));
        for (size_t item = 0; item < count && position < data->count; item++, position++) {
            TRY(expand_gate(
                scope, member, start, position, argument_type(inner, input, item), &data->items[position]));
        }
    }
    return STATUS_OK;
}

Status
call_expand(Scope *scope, Member *member)
{
    Scope inner;
    Endpoints data;
    Endpoints controls;
    Slice start;
    Used used;
    TRY(called_function(scope, member, &inner));
    TRY(resolve_inputs(scope, member, &data, &controls));
    TRY(expand_start(scope, member, &controls, &start));
    TRY(gate_arguments(&inner, member, scope, start, &data));
    const Use use = {.member = member,
        .function = inner.function->name,
        .attrs = inner.attrs,
        .attr_count = inner.attr_count,
        .part = "",
        .pivot = start.size > 0 ? start : scope->pivot,
        .arguments = &data,
        .only_asked = !is_by_name(member)};
    TRY(expand_use(scope, &use, &used));
    for (size_t index = 0; index < used.outputs.count; index++) {
        TRY(emit_identity(
            scope, member->outputs.items[index], used.outputs.items[index], used.dtypes[index], NULL));
    }
    member->has_effects = used.effects.count > 0;
    return expand_finish(scope, member, &used.effects);
}
