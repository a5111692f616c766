#include "shared/graph/graph.h"

#include <assert.h>

#include "shared/base/atomic.h"

Graph *
graph_ref(Graph *graph)
{
    reference_count_add(&graph->reference_count);
    return graph;
}

void
graph_unref(Graph *graph)
{
    if (graph == NULL || !reference_count_drop(&graph->reference_count)) {
        return;
    }
    map_free(graph->by_name);
    graph_def_unref(graph->def);
    arena_free(graph->arena);
}

const Node *
graph_find(const Graph *graph, Slice name)
{
    return map_get(graph->by_name, name);
}

static const GraphPort *
find_port(const GraphPort *ports, size_t count, Slice name)
{
    for (size_t index = 0; index < count; index++) {
        if (slice_equal(ports[index].name, name)) {
            return &ports[index];
        }
    }
    return NULL;
}

/* Returns the tensor of the input or output that the model declares by this name, else the text itself. */
static Slice
resolve_declared(const GraphDef *def, Slice text, bool is_fetched)
{
    const GraphPort *input = find_port(def->inputs, def->input_count, text);
    const GraphPort *output = find_port(def->outputs, def->output_count, text);
    const GraphPort *port = output != NULL && (is_fetched || input == NULL) ? output : input;
    return port == NULL ? text : port->tensor;
}

/* Replaces an output of a node that was expanded by the endpoint that gives it now. */
static void
resolve_expanded(const Graph *graph, NodeInput *input)
{
    const Node *node = graph_find(graph, input->node);
    bool is_left_behind = node != NULL && slice_equals_string(node->def->op, "NoOp");
    const AttrValue *outputs = is_left_behind ? node_attr(node, "_outputs") : NULL;
    NodeInput moved;
    if (outputs != NULL && outputs->is_list && outputs->kind == ATTR_STRING &&
        input->port < outputs->value.list.count &&
        node_input_parse(outputs->value.list.items[input->port].value.s, &moved)) {
        *input = moved;
    }
}

/* Finds the endpoint of a port or node; `text` is what the client wrote. */
static Status
find_endpoint(Call *call, const Graph *graph, Slice text, Slice declared, Endpoint *ret_endpoint)
{
    Slice shown = slice_part(text, 0, 128);
    NodeInput input;
    bool is_endpoint = node_input_parse(declared, &input);
    if (is_endpoint) {
        resolve_expanded(graph, &input);
    }
    if (!is_endpoint || input.is_control) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "'%.*s' is neither 'node' nor 'node:port'", SLICE_PRINT(shown));
    }
    const Node *node = graph_find(graph, input.node);
    if (node == NULL) {
        return call_fail(call, STATUS_NOT_FOUND, "the graph has no node for '%.*s'", SLICE_PRINT(shown));
    }
    if (node->op != NULL && input.port >= node->output_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' does not exist: the node has %u output%s",
            SLICE_PRINT(shown), node->output_count, node->output_count == 1 ? "" : "s");
    }
    *ret_endpoint = (Endpoint){.node = node->id, .port = input.port};
    return STATUS_OK;
}

Status
graph_endpoint(Call *call, const Graph *graph, Slice text, Endpoint *ret_endpoint)
{
    return find_endpoint(call, graph, text, resolve_declared(graph->def, text, false), ret_endpoint);
}

Status
graph_fetch(Call *call, const Graph *graph, Slice text, Endpoint *ret_endpoint)
{
    return find_endpoint(call, graph, text, resolve_declared(graph->def, text, true), ret_endpoint);
}

const AttrValue *
node_attr(const Node *node, const char *name)
{
    Slice wanted = slice_from_string(name);
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(node->attrs[index].name, wanted)) {
            return &node->attrs[index].value;
        }
    }
    return NULL;
}

static const AttrValue *
declared_attr(const Node *node, const char *name, AttrKind kind)
{
    const AttrValue *value = node_attr(node, name);
    assert(value != NULL && value->kind == kind && !value->is_list);
    return value;
}

int64_t
node_attr_int(const Node *node, const char *name)
{
    return declared_attr(node, name, ATTR_INT)->value.i;
}

float
node_attr_float(const Node *node, const char *name)
{
    return declared_attr(node, name, ATTR_FLOAT)->value.f;
}

bool
node_attr_bool(const Node *node, const char *name)
{
    return declared_attr(node, name, ATTR_BOOL)->value.b;
}

Slice
node_attr_string(const Node *node, const char *name)
{
    return declared_attr(node, name, ATTR_STRING)->value.s;
}

Dtype
node_attr_type(const Node *node, const char *name)
{
    return declared_attr(node, name, ATTR_TYPE)->value.type;
}

const Tensor *
node_attr_tensor(const Node *node, const char *name)
{
    return &declared_attr(node, name, ATTR_TENSOR)->value.tensor;
}

const Tensor *
node_known_value(const Node *node)
{
    const AttrValue *value = slice_equal(node->def->op, SLICE("Const")) ? node_attr(node, "value") : NULL;
    bool is_known = value != NULL && value->kind == ATTR_TENSOR && !value->is_list &&
                    !tensor_is_absent(&value->value.tensor);
    return is_known ? &value->value.tensor : NULL;
}

size_t
node_attr_count(const Node *node, const char *name)
{
    const AttrValue *value = node_attr(node, name);
    return value == NULL || !value->is_list ? 0 : value->value.list.count;
}

size_t
node_attr_ints(const Node *node, const char *name, int64_t *ret_values, size_t capacity)
{
    const AttrValue *value = node_attr(node, name);
    size_t count = node_attr_count(node, name);
    assert(count == 0 || value->kind == ATTR_INT);
    for (size_t index = 0; index < count && index < capacity; index++) {
        ret_values[index] = value->value.list.items[index].value.i;
    }
    return count;
}

bool
node_keeps_state(const Node *node)
{
    assert(node->op != NULL);
    unsigned flags = node->op->flags;
    return (flags & OP_KEEPS_STATE) != 0 ||
           ((flags & OP_RANDOM) != 0 &&
               (node_attr_int(node, "seed") != 0 || node_attr_int(node, "seed2") != 0));
}

bool
node_is_merge(const Node *node)
{
    return slice_equal(node->def->op, SLICE("Merge")) || slice_equal(node->def->op, SLICE("RefMerge"));
}

bool
edge_is_back(const Node *source, const Node *node)
{
    return node_is_merge(node) && (slice_equal(source->def->op, SLICE("NextIteration")) ||
                                      slice_equal(source->def->op, SLICE("RefNextIteration")));
}
