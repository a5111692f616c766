/* Calls: the function's body stands in their place. When the call has control inputs, its whole body waits
 * for them. */
#include "gateway/expand/emission.h"
#include "gateway/expand/form.h"

static bool
is_by_name(const Member *member)
{
    return member->form->op == NULL;
}

/* Returns the function that the node calls, in a scope with what the node binds to its attributes. */
static Status
find_called(const Scope *scope, const Member *member, Scope *ret_inner)
{
    FunctionRef by_name = {.name = member->def->op, .attrs = member->attrs, .attr_count = member->attr_count};
    const FunctionRef *called = &by_name;
    TRY(is_by_name(member) ? STATUS_OK : member_function_ref(scope, member, "f", &called));
    *ret_inner =
        (Scope){.expansion = scope->expansion, .attrs = called->attrs, .attr_count = called->attr_count};
    return expand_function(scope, member, called->name, &ret_inner->function);
}

Status
call_count_outputs(const Scope *scope, const Member *member, size_t *ret_count)
{
    Scope inner;
    TRY(find_called(scope, member, &inner));
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
        const FunctionArgument *input = &inner->function->inputs[index];
        size_t count = 0;
        TRY(argument_size(inner, input, &count));
        for (size_t item = 0; item < count && position < data->count; item++, position++) {
            TRY(form_gate(
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
    TRY(find_called(scope, member, &inner));
    TRY(resolve_inputs(scope, member, &data, &controls));
    TRY(form_start(scope, member, &controls, &start));
    TRY(gate_arguments(&inner, member, scope, start, &data));
    Use use = {.member = member,
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
    return form_finish(scope, member, &used.effects);
}
