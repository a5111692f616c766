/* Finds the dtypes of outputs, and checks that each input gets the dtype it expects. */
#include <assert.h>
#include <stdio.h>

#include "shared/graph/linker.h"

static Attr *
find_attr(const Linker *linker, const Node *node, Slice name)
{
    Attr *attrs = linker->attrs[node->id];
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(attrs[index].name, name)) {
            return &attrs[index];
        }
    }
    return NULL;
}

static const AttrValue *
attr_value(const Node *node, Slice name)
{
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(node->attrs[index].name, name)) {
            return &node->attrs[index].value;
        }
    }
    return NULL;
}

static Dtype
argument_dtype(const Node *node, const OpArgument *argument, size_t index)
{
    if (argument->type_list_attr.size > 0) {
        const AttrValue *types = attr_value(node, argument->type_list_attr);
        return types == NULL ? DTYPE_INVALID : types->value.list.items[index].value.type;
    }
    if (argument->type_attr.size > 0) {
        const AttrValue *type = attr_value(node, argument->type_attr);
        return type == NULL ? DTYPE_INVALID : type->value.type;
    }
    return argument->dtype;
}

/* Returns DTYPE_INVALID for an absent input, an unknown op, or a port that does not exist. */
static Dtype
endpoint_dtype(const Graph *graph, Endpoint endpoint)
{
    if (endpoint.node == NODE_NONE || endpoint.port >= graph->nodes[endpoint.node].output_count) {
        return DTYPE_INVALID;
    }
    return graph->nodes[endpoint.node].output_dtypes[endpoint.port];
}

static size_t
tensor_count(const Node *node, const OpArgument *arguments, size_t argument_total)
{
    size_t total = 0;
    for (size_t index = 0; index < argument_total; index++) {
        total += argument_count(node, &arguments[index]);
    }
    return total;
}

static Dtype *
flatten_dtypes(Linker *linker, const Node *node, const OpArgument *arguments, size_t argument_total)
{
    Dtype *dtypes = link_alloc(linker, tensor_count(node, arguments, argument_total), sizeof *dtypes);
    size_t position = 0;
    for (size_t index = 0; dtypes != NULL && index < argument_total; index++) {
        size_t count = argument_count(node, &arguments[index]);
        for (size_t item = 0; item < count; item++) {
            dtypes[position++] = argument_dtype(node, &arguments[index], item);
        }
    }
    return dtypes;
}

/* Binds each missing type attribute to the dtype of the first input that has it. */
static void
bind_types(Linker *linker, const Node *node)
{
    size_t position = 0;
    for (size_t index = 0; index < node->op->input_count; index++) {
        const OpArgument *argument = &node->op->inputs[index];
        Attr *attr = argument->type_attr.size == 0 ? NULL : find_attr(linker, node, argument->type_attr);
        size_t count = argument_count(node, argument);
        for (size_t item = 0; item < count; item++, position++) {
            if (attr != NULL && attr->value.value.type == DTYPE_INVALID) {
                attr->value.value.type = endpoint_dtype(linker->graph, node->inputs[position]);
            }
        }
    }
}

/* Binds them to the dtype of the endpoint that "_type_of" names, which may come later in the order, in a
 * loop. */
static void
bind_type_source(Linker *linker, const Node *node)
{
    Slice text = node_type_source(node);
    NodeInput input;
    const Node *source = text.size > 0 && node_input_parse(text, &input) && !input.is_control
                             ? map_get(linker->graph->by_name, input.node)
                             : NULL;
    for (size_t index = 0; source != NULL && index < node->op->attr_count; index++) {
        AttrValue *value = &linker->attrs[node->id][index].value;
        if (value->kind == ATTR_TYPE && !value->is_list && value->value.type == DTYPE_INVALID) {
            value->value.type =
                endpoint_dtype(linker->graph, (Endpoint){.node = source->id, .port = input.port});
        }
    }
}

/* Returns true when nothing is left to bind. The outputs of an unknown op stay unknown. */
static bool
is_typed(const Node *node)
{
    for (size_t index = 0; node->op != NULL && index < node->op->attr_count; index++) {
        const AttrValue *value = &node->attrs[index].value;
        if (value->kind == ATTR_TYPE && !value->is_list && value->value.type == DTYPE_INVALID) {
            return false;
        }
    }
    return node->op == NULL || node->output_dtypes != NULL;
}

static bool
has_unknown_input(const Graph *graph, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE &&
            endpoint_dtype(graph, node->inputs[index]) == DTYPE_INVALID) {
            return true;
        }
    }
    return false;
}

static Status
link_node_types(Linker *linker, Node *node)
{
    if (node->op == NULL) {
        return STATUS_OK;
    }
    if (node_binds_types(node)) {
        bind_types(linker, node);
        bind_type_source(linker, node);
    }
    const Op *op = node->op;
    node->input_dtypes = flatten_dtypes(linker, node, op->inputs, op->input_count);
    node->output_dtypes = flatten_dtypes(linker, node, op->outputs, op->output_count);
    if (node->input_dtypes == NULL || node->output_dtypes == NULL) {
        return call_fail_memory(linker->call, "the graph's dtypes");
    }
    node->output_count = (uint32_t)tensor_count(node, op->outputs, op->output_count);
    return STATUS_OK;
}

/* Repeats as long as a turn binds more: one turn is enough but for graphs with "_type_of", where a loop
 * may wait for one inside of it or behind it. The number of turns is limited, so that a graph written by
 * hand cannot take one for each of its nodes. */
static Status
bind_all_types(Linker *linker)
{
    enum { TURNS_MAX = 32 };
    const Graph *graph = linker->graph;
    size_t before = SIZE_MAX;
    size_t open = graph->node_count;
    for (int turn = 0; turn < TURNS_MAX && open > 0 && open < before; turn++) {
        before = open;
        open = 0;
        for (uint32_t index = 0; index < graph->node_count; index++) {
            Node *node = &graph->nodes[graph->order[index]];
            TRY(is_typed(node) ? STATUS_OK : link_node_types(linker, node));
            open += is_typed(node) ? 0 : 1;
        }
    }
    return STATUS_OK;
}

static void
check_outputs(Linker *linker, const Node *node)
{
    for (uint32_t port = 0; node->op != NULL && port < node->output_count; port++) {
        if (node->output_dtypes[port] == DTYPE_INVALID && !has_unknown_input(linker->graph, node)) {
            link_fault(linker, node, "/attr", "the inputs do not tell the dtype of output %u", port);
        }
    }
}

static const OpArgument *
argument_at(const Node *node, const OpArgument *arguments, size_t argument_total, size_t position)
{
    for (size_t index = 0; index < argument_total; index++) {
        size_t count = argument_count(node, &arguments[index]);
        if (position < count) {
            return &arguments[index];
        }
        position -= count;
    }
    return NULL;
}

bool
node_input_is_reference(const Node *node, uint32_t index)
{
    const OpArgument *argument =
        node->op == NULL ? NULL : argument_at(node, node->op->inputs, node->op->input_count, index);
    return argument != NULL && argument->is_reference;
}

bool
node_output_is_reference(const Node *node, uint32_t port)
{
    const OpArgument *argument =
        node->op == NULL ? NULL : argument_at(node, node->op->outputs, node->op->output_count, port);
    return argument != NULL && argument->is_reference;
}

/* Freezing leaves a constant in place of a variable; it acts as a variable of the step. */
static bool
may_be_referenced(const Node *source, uint32_t port)
{
    return source->op == NULL || node_output_is_reference(source, port) ||
           slice_equals_string(source->def->op, "Const") ||
           slice_equals_string(source->def->op, "_BlobConst");
}

static void
edge_fault(Linker *linker, const Node *node, uint32_t index, const char *reason)
{
    const Node *source = &linker->graph->nodes[node->inputs[index].node];
    char suffix[40];
    (void)snprintf(suffix, sizeof suffix, "/input/%u", index);
    Slice name = slice_part(source->name, 0, 128);
    link_fault(linker, node, suffix, "input %u '%.*s:%u' %s", index, SLICE_PRINT(name),
        node->inputs[index].port, reason);
}

static void
check_edge(Linker *linker, const Node *node, uint32_t index)
{
    Endpoint endpoint = node->inputs[index];
    if (endpoint.node == NODE_NONE || linker->graph->nodes[endpoint.node].op == NULL) {
        return;
    }
    const Node *source = &linker->graph->nodes[endpoint.node];
    char reason[128];
    if (endpoint.port >= source->output_count) {
        (void)snprintf(reason, sizeof reason, "does not exist: the node has %u output%s",
            source->output_count, source->output_count == 1 ? "" : "s");
        edge_fault(linker, node, index, reason);
        return;
    }
    Dtype actual = source->output_dtypes[endpoint.port];
    Dtype expected = node->op == NULL ? DTYPE_INVALID : node->input_dtypes[index];
    if (actual != DTYPE_INVALID && expected != DTYPE_INVALID && actual != expected) {
        (void)snprintf(reason, sizeof reason, "is %s, expected %s", dtype_name(actual), dtype_name(expected));
        edge_fault(linker, node, index, reason);
    }
}

static void
check_references(Linker *linker, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        uint32_t id = node->inputs[index].node;
        if (id == NODE_NONE || !node_input_is_reference(node, index)) {
            continue;
        }
        if (!may_be_referenced(&linker->graph->nodes[id], node->inputs[index].port)) {
            edge_fault(linker, node, index, "is a value, expected a reference to a variable");
        }
    }
}

/* Notes that somebody reads this output. */
static void
mark_read(Graph *graph, Endpoint endpoint)
{
    if (endpoint.node != NODE_NONE) {
        graph->nodes[endpoint.node].read_outputs |= (uint32_t)1 << (endpoint.port < 31 ? endpoint.port : 31);
    }
}

static bool
takes_references(const Op *op)
{
    for (size_t index = 0; op != NULL && index < op->input_count; index++) {
        if (op->inputs[index].is_reference) {
            return true;
        }
    }
    return false;
}

Status
link_types(Linker *linker)
{
    Graph *graph = linker->graph;
    assert(graph->order != NULL && linker->fault_count == 0);
    TRY(bind_all_types(linker));
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        check_outputs(linker, node);
        for (uint32_t index = 0; index < node->input_count; index++) {
            check_edge(linker, node, index);
            mark_read(graph, node->inputs[index]);
        }
        if (takes_references(node->op)) {
            check_references(linker, node);
        }
    }
    return STATUS_OK;
}
