#include "gateway/expand/form.h"

#include <assert.h>

#include "gateway/expand/emission.h"

Status
form_start(const Scope *scope, const Member *member, const Endpoints *controls, Slice *ret_control)
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
form_gate(const Scope *scope, const Member *member, Slice start, size_t index, Dtype dtype, Slice *argument)
{
    if (start.size == 0) {
        return STATUS_OK;
    }
    Endpoints controls = {.items = &start, .count = 1};
    Slice input = *argument;
    TRY(expand_item(scope->expansion, member->name, "input_", index, argument));
    return emit_identity(scope, *argument, input, dtype, &controls);
}

static Status
list_output_names(const Expansion *expansion, const Member *member, AttrValue *ret_value)
{
    AttrValue *items = expand_alloc(expansion, member->outputs.count, sizeof *items);
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
form_finish(Scope *scope, Member *member, const Endpoints *controls)
{
    AttrValue outputs;
    assert(member->form != NULL);
    TRY(list_output_names(scope->expansion, member, &outputs));
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
