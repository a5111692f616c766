/* Names of tensors in the body of a function: "argument", "argument:1", "^node", and "node:output:0" with
 * the name of the output in the op's signature. A body of ONNX has no such names and says "node:2" for the
 * third of all outputs. */
#include <assert.h>

#include "gateway/expand/scope.h"
#include "shared/ops/registry.h"

/* A reference in its parts. */
typedef struct Reference {
    Slice name;
    Slice output; /* "" when none is named */
    uint64_t index;
} Reference;

static bool
parse_reference(Slice text, Reference *ret_reference)
{
    Reference reference = {.name = slice_part(text, 0, slice_find(text, ':'))};
    Slice rest = slice_part(text, reference.name.size + 1, SIZE_MAX);
    Slice middle = slice_part(rest, 0, slice_find(rest, ':'));
    rest = slice_part(rest, middle.size + 1, SIZE_MAX);
    bool is_number = middle.size > 0 && slice_to_uint64(middle, &reference.index);
    reference.output = is_number ? SLICE("") : middle;
    bool is_whole = rest.size == 0 || (!is_number && slice_to_uint64(rest, &reference.index));
    *ret_reference = reference;
    return reference.name.size > 0 && is_whole && reference.index <= GRAPH_NODE_COUNT_MAX;
}

static const AttrValue *
count_value(const Op *op, const Member *member, Slice name)
{
    for (size_t index = 0; index < member->attr_count; index++) {
        if (slice_equal(member->attrs[index].name, name)) {
            return &member->attrs[index].value;
        }
    }
    for (size_t index = 0; index < op->attr_count; index++) {
        if (slice_equal(op->attrs[index].name, name) && op->attrs[index].has_default) {
            return &op->attrs[index].default_value;
        }
    }
    return NULL;
}

static size_t
output_size(const Op *op, const Member *member, const OpArgument *output)
{
    Slice attr = output->number_attr.size > 0 ? output->number_attr : output->type_list_attr;
    const AttrValue *value = attr.size == 0 ? NULL : count_value(op, member, attr);
    if (value == NULL) {
        return 1;
    }
    return value->is_list ? value->value.list.count : (size_t)value->value.i;
}

/* Returns the position of a named output among all of the node's; an unknown op's outputs count from the
 * first. */
static bool
output_start(const Member *member, Slice output, size_t *ret_start)
{
    const Op *op = op_find(member->def->op);
    *ret_start = 0;
    for (size_t index = 0; op != NULL && index < op->output_count; index++) {
        if (slice_equal(op->outputs[index].name, output)) {
            return true;
        }
        *ret_start += output_size(op, member, &op->outputs[index]);
    }
    return op == NULL;
}

/* Counts where each output of the function that the member calls by name begins among the member's
 * outputs. */
static Status
find_output_starts(const Scope *scope, const FunctionDef *function, Member *member)
{
    Scope inner = {.expansion = scope->expansion,
        .function = function,
        .attrs = member->attrs,
        .attr_count = member->attr_count};
    size_t *starts = expand_scratch(scope->expansion, function->output_count, sizeof *starts);
    size_t total = 0;
    if (starts == NULL) {
        return expand_no_memory(scope->expansion);
    }
    for (size_t index = 0; index < function->output_count; index++) {
        size_t count = 0;
        starts[index] = total;
        TRY(argument_size(&inner, &function->outputs[index], &count));
        total += count;
    }
    member->output_starts = starts;
    return STATUS_OK;
}

/* A call by name has the outputs of its function; any other form has one list of outputs. */
static Status
form_output_start(const Scope *scope, Member *member, Slice output, bool *ret_found, size_t *ret_start)
{
    const FunctionDef *function = NULL;
    *ret_start = 0;
    *ret_found = member->form->op != NULL;
    if (*ret_found) {
        return STATUS_OK;
    }
    TRY(expand_function(scope, member, member->def->op, &function));
    const FunctionNames *names = expand_function_names(scope->expansion, function);
    if (names == NULL) {
        return expand_no_memory(scope->expansion);
    }
    TRY(member->output_starts == NULL ? find_output_starts(scope, function, member) : STATUS_OK);
    size_t position = 0;
    *ret_found = function_names_find(names, names->outputs, output, &position);
    *ret_start = *ret_found ? member->output_starts[position] : 0;
    return STATUS_OK;
}

static Status
resolve_output(const Scope *scope, const Member *user, Member *member, const Reference *reference,
    size_t offset, Slice *ret_endpoint)
{
    size_t start = 0;
    bool is_found = true;
    if (reference->output.size > 0 && member->form != NULL) {
        TRY(form_output_start(scope, member, reference->output, &is_found, &start));
    } else if (reference->output.size > 0) {
        is_found = output_start(member, reference->output, &start);
    }
    size_t port = start + reference->index + offset;
    if (!is_found || (member->form != NULL && port >= member->outputs.count)) {
        return expand_fail(scope, user, "reads '%.*s:%.*s:%llu', which '%.*s' does not have",
            SLICE_PRINT(reference->name), SLICE_PRINT(reference->output),
            (unsigned long long)reference->index, SLICE_PRINT(member->def->op));
    }
    if (member->form != NULL) {
        *ret_endpoint = member->outputs.items[port];
        return STATUS_OK;
    }
    return expand_port(scope->expansion, member->name, port, ret_endpoint);
}

/* Finds the argument of this name; NULL when the function has none, or there is no function. */
static Status
find_argument(const Scope *scope, Slice name, const FunctionArgument **ret_argument)
{
    const FunctionNames *names =
        scope->function == NULL ? NULL : expand_function_names(scope->expansion, scope->function);
    if (names == NULL && scope->function != NULL) {
        return expand_no_memory(scope->expansion);
    }
    size_t position = 0;
    bool is_found = names != NULL && function_names_find(names, names->arguments, name, &position);
    *ret_argument = is_found ? &scope->function->inputs[position] : NULL;
    return STATUS_OK;
}

Status
resolve_reference(const Scope *scope, const Member *member, Slice text, size_t offset, Slice *ret_endpoint)
{
    Reference reference;
    assert(scope->function != NULL && scope->by_name != NULL);
    if (!parse_reference(text, &reference)) {
        return expand_fail(scope, member, "'%.*s' is none of 'argument', 'node:output:index' and '^node'",
            SLICE_PRINT(slice_part(text, 0, 128)));
    }
    const FunctionArgument *argument = NULL;
    TRY(find_argument(scope, reference.name, &argument));
    if (argument != NULL) {
        size_t first = scope->argument_starts[argument - scope->function->inputs];
        size_t position = first + reference.index + offset;
        if (position < scope->arguments.count) {
            *ret_endpoint = scope->arguments.items[position];
            return STATUS_OK;
        }
    }
    Member *source = argument == NULL ? map_get(scope->by_name, reference.name) : NULL;
    if (source == NULL) {
        return expand_fail(scope, member, "reads '%.*s', which function '%.*s' does not have",
            SLICE_PRINT(slice_part(text, 0, 128)), SLICE_PRINT(scope->function->name));
    }
    return resolve_output(scope, member, source, &reference, offset, ret_endpoint);
}

/* A control edge from an argument waits for the node that computes it. */
static Status
resolve_control(const Scope *scope, const Member *member, Slice name, Slice *ret_control)
{
    const Member *source = map_get(scope->by_name, name);
    if (source != NULL) {
        return expand_control(scope->expansion, source->name, ret_control);
    }
    Slice endpoint;
    TRY(resolve_reference(scope, member, name, 0, &endpoint));
    return expand_control(scope->expansion, endpoint, ret_control);
}

/* Nodes of the graph itself name their inputs "node:port"; only outputs of forms have new names. The
 * linker judges what is wrong with such a text. */
static Status
resolve_graph_input(const Scope *scope, const Member *member, Slice text, Slice *ret_endpoint)
{
    NodeInput input;
    bool is_endpoint = node_input_parse(text, &input) && !input.is_control;
    const Member *source = is_endpoint ? map_get(scope->by_name, input.node) : NULL;
    *ret_endpoint = text;
    if (source == NULL || source->form == NULL) {
        return STATUS_OK;
    }
    if (input.port >= source->outputs.count) {
        return expand_fail(scope, member, "input '%.*s' does not exist: the node has %zu output%s",
            SLICE_PRINT(slice_part(text, 0, 128)), source->outputs.count,
            source->outputs.count == 1 ? "" : "s");
    }
    *ret_endpoint = source->outputs.items[input.port];
    return STATUS_OK;
}

/* Counts the tensors that a text names: the name of an argument alone means all tensors of the argument. */
static Status
count_named(const Scope *scope, Slice text, size_t *ret_count)
{
    const FunctionArgument *argument = NULL;
    TRY(find_argument(scope, text, &argument));
    *ret_count = 1;
    return argument == NULL ? STATUS_OK : argument_size(scope, argument, ret_count);
}

static Status
resolve_input(const Scope *scope, const Member *member, Slice text, Endpoints *data)
{
    if (scope->function == NULL) {
        return resolve_graph_input(scope, member, text, &data->items[data->count++]);
    }
    if (text.size == 0) {
        data->items[data->count++] = text;
        return STATUS_OK;
    }
    size_t count = 0;
    TRY(count_named(scope, text, &count));
    for (size_t offset = 0; offset < count; offset++) {
        TRY(resolve_reference(scope, member, text, offset, &data->items[data->count++]));
    }
    return STATUS_OK;
}

static Status
count_inputs(const Scope *scope, const NodeDef *def, size_t *ret_total)
{
    *ret_total = 0;
    for (size_t index = 0; index < def->input_count; index++) {
        size_t count = 0;
        TRY(count_named(scope, def->inputs[index], &count));
        *ret_total += count;
    }
    return STATUS_OK;
}

Status
resolve_inputs(const Scope *scope, const Member *member, Endpoints *ret_data, Endpoints *ret_controls)
{
    const NodeDef *def = member->def;
    assert(scope->by_name != NULL);
    size_t total = 0;
    TRY(count_inputs(scope, def, &total));
    TRY(endpoints_new(scope->expansion, total, ret_data));
    TRY(endpoints_new(scope->expansion, def->input_count, ret_controls));
    ret_data->count = ret_controls->count = 0;
    for (size_t index = 0; index < def->input_count; index++) {
        Slice text = def->inputs[index];
        if (!slice_starts_with(text, SLICE("^"))) {
            TRY(resolve_input(scope, member, text, ret_data));
        } else if (scope->function == NULL) {
            ret_controls->items[ret_controls->count++] = text;
        } else {
            TRY(resolve_control(
                scope, member, slice_part(text, 1, SIZE_MAX), &ret_controls->items[ret_controls->count++]));
        }
    }
    return STATUS_OK;
}
