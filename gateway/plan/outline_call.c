/* Branches as functions, and their call: its inputs are what decides and what its branches read from outside.
 * A call is written behind all calls inside of it, which add to what it reads. */
#include "gateway/plan/outline_write.h"
#include "shared/base/text.h"

enum { CALL_ATTR_COUNT = 4 };

static uint32_t
list_count(const Buffer *list, size_t size)
{
    return (uint32_t)(list->size / size);
}

static Endpoint
arg_at(const Candidate *candidate, uint32_t index)
{
    return ((const Endpoint *)(const void *)candidate->args.data)[index];
}

uint32_t
candidate_output_count(const Candidate *candidate)
{
    return list_count(&candidate->outputs, sizeof(uint32_t));
}

uint32_t
candidate_output(const Candidate *candidate, uint32_t index)
{
    return ((const uint32_t *)(const void *)candidate->outputs.data)[index];
}

static Dtype
dtype_of(const Writing *writing, Endpoint endpoint)
{
    return writing->graph->nodes[endpoint.node].output_dtypes[endpoint.port];
}

/* {T, index} of an _Arg or _Retval. */
static const Attr *
port_attrs(Writing *writing, Dtype dtype, uint32_t index)
{
    Attr *const attrs = outline_alloc(writing, 2, sizeof *attrs);
    if (attrs != NULL) {
        attrs[0] = (Attr){.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
        attrs[1] = (Attr){.name = SLICE("index"), .value = {.kind = ATTR_INT, .value.i = index}};
    }
    return attrs;
}

static void
write_results(Writing *writing, const Candidate *candidate, uint32_t branch)
{
    const uint32_t home = candidate->first_home + branch;
    for (uint32_t index = 0; index < candidate_output_count(candidate); index++) {
        const Node *const merge = &writing->graph->nodes[candidate_output(candidate, index)];
        NodeDef def = {.name = outline_text(writing, text_format(writing->def->arena, "_retval_%u", index)),
            .op = SLICE("_Retval"),
            .attrs = port_attrs(writing, merge->output_dtypes[0], index),
            .attr_count = 2};
        const Reading reading = {.home = home, .inputs = &merge->inputs[branch], .input_count = 1};
        outline_inputs(writing, &reading, &def);
        outline_append(writing, home, &def);
    }
}

static void
write_arguments(Writing *writing, const Candidate *candidate, uint32_t home)
{
    for (uint32_t index = 0; index < list_count(&candidate->args, sizeof(Endpoint)); index++) {
        const NodeDef def = {
            .name = outline_text(writing, text_format(writing->def->arena, "_arg_%u", index)),
            .op = SLICE("_Arg"),
            .attrs = port_attrs(writing, dtype_of(writing, arg_at(candidate, index)), index),
            .attr_count = 2};
        outline_append(writing, home, &def);
    }
}

/* What is in a home moves to the graph's own memory. */
static const NodeDef *
take_nodes(Writing *writing, uint32_t home, size_t *ret_count)
{
    const Buffer *const nodes = &writing->homes[home].nodes;
    NodeDef *const copy = outline_alloc(writing, nodes->size, 1);
    if (copy != NULL && nodes->size > 0) {
        memcpy(copy, nodes->data, nodes->size);
    }
    *ret_count = nodes->size / sizeof(NodeDef);
    return copy;
}

static AttrValue *
new_list(Writing *writing, AttrKind kind, uint32_t count, AttrValue *ret_list)
{
    AttrValue *const items = outline_alloc(writing, count, sizeof *items);
    *ret_list = (AttrValue){
        .kind = kind, .is_list = true, .value.list = {.count = items == NULL ? 0 : count, .items = items}};
    return items;
}

static AttrValue
write_functions(Writing *writing, uint32_t branching, uint32_t branch_count)
{
    const Candidate *const candidate = &writing->outline->candidates[branching];
    AttrValue list;
    AttrValue *const items = new_list(writing, ATTR_FUNCTION, branch_count, &list);
    for (uint32_t branch = 0; branch < branch_count; branch++) {
        write_results(writing, candidate, branch);
    }
    for (uint32_t branch = 0; items != NULL && branch < branch_count; branch++) {
        FunctionDef *const function = &writing->functions[writing->function_count++];
        write_arguments(writing, candidate, candidate->first_home + branch);
        function->name = outline_text(
            writing, text_format(writing->def->arena, "%.*s_%u",
                         SLICE_PRINT(writing->outline->conditions.branchings[branching].name), branch));
        function->nodes = take_nodes(writing, candidate->first_home + branch, &function->node_count);
        items[branch] = (AttrValue){.kind = ATTR_FUNCTION, .value.function = {.name = function->name}};
    }
    return list;
}

static AttrValue
arg_types(Writing *writing, const Candidate *candidate)
{
    AttrValue list;
    AttrValue *const items =
        new_list(writing, ATTR_TYPE, list_count(&candidate->args, sizeof(Endpoint)), &list);
    for (uint32_t index = 0; items != NULL && index < list.value.list.count; index++) {
        items[index] =
            (AttrValue){.kind = ATTR_TYPE, .value.type = dtype_of(writing, arg_at(candidate, index))};
    }
    return list;
}

static AttrValue
output_types(Writing *writing, const Candidate *candidate)
{
    AttrValue list;
    AttrValue *const items = new_list(writing, ATTR_TYPE, candidate_output_count(candidate), &list);
    for (uint32_t index = 0; items != NULL && index < list.value.list.count; index++) {
        const Node *const merge = &writing->graph->nodes[candidate_output(candidate, index)];
        items[index] = (AttrValue){.kind = ATTR_TYPE, .value.type = merge->output_dtypes[0]};
    }
    return list;
}

/* Reading them may add to what the call around this one reads. */
static void
write_call_inputs(Writing *writing, const Candidate *candidate, uint32_t home, NodeDef *def)
{
    const uint32_t arg_count = list_count(&candidate->args, sizeof(Endpoint));
    Endpoint *const inputs = outline_alloc(writing, (size_t)arg_count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return;
    }
    inputs[0] = candidate->index;
    for (uint32_t index = 0; index < arg_count; index++) {
        inputs[index + 1] = arg_at(candidate, index);
    }
    const Reading reading = {.home = home,
        .inputs = inputs,
        .input_count = arg_count + 1,
        .controls = (const uint32_t *)(const void *)candidate->controls.data,
        .control_count = list_count(&candidate->controls, sizeof(uint32_t))};
    outline_inputs(writing, &reading, def);
}

void
write_call(Writing *writing, uint32_t branching)
{
    const Branching *const called = &writing->outline->conditions.branchings[branching];
    Candidate *const candidate = &writing->outline->candidates[branching];
    Attr *const attrs = outline_alloc(writing, CALL_ATTR_COUNT, sizeof *attrs);
    if (attrs == NULL) {
        return;
    }
    const AttrValue functions = write_functions(writing, branching, called->test_count + 1);
    attrs[0] = (Attr){.name = SLICE("Tindex"),
        .value = {.kind = ATTR_TYPE, .value.type = dtype_of(writing, candidate->index)}};
    attrs[1] = (Attr){.name = SLICE("Tin"), .value = arg_types(writing, candidate)};
    attrs[2] = (Attr){.name = SLICE("Tout"), .value = output_types(writing, candidate)};
    attrs[3] = (Attr){.name = SLICE("branches"), .value = functions};
    NodeDef def = {.name = called->name,
        .op = candidate->keeps_state ? SLICE("_StateBranch") : SLICE("_Branch"),
        .device = candidate->device,
        .attrs = attrs,
        .attr_count = CALL_ATTR_COUNT};
    const uint32_t home = home_of(writing->outline, called->parent);
    write_call_inputs(writing, candidate, home, &def);
    outline_append(writing, home, &def);
}
