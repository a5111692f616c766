/* Links a graph in the steps of linker.h; names and inputs are linked here. */
#include "shared/graph/linker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

Status
link_names(Linker *linker)
{
    Graph *graph = linker->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        Node *node = &graph->nodes[id];
        const NodeDef *def = &graph->def->nodes[id];
        *node = (Node){.id = id, .name = def->name, .op = linker->find(def->op), .def = def};
        if (!node_name_is_valid(node->name, linker->limits.allows_internal)) {
            link_fault(linker, node, "/name", "the name breaks the grammar [A-Za-z0-9.][A-Za-z0-9_.\\-/]*");
            continue;
        }
        if (def->op.size == 0) {
            link_fault(linker, node, "/op", "the op is missing");
        }
        const Node *other = map_get(graph->by_name, node->name);
        if (other != NULL) {
            link_fault(linker, node, "/name", "the name is already taken by node %u", other->id);
        } else if (!map_put(graph->by_name, node->name, node)) {
            return call_fail_memory(linker->call, "the graph's names");
        }
    }
    return STATUS_OK;
}

static void
input_fault(Linker *linker, const Node *node, size_t index, const char *reason)
{
    char suffix[40];
    (void)snprintf(suffix, sizeof suffix, "/input/%zu", index);
    Slice text = slice_part(node->def->inputs[index], 0, 128);
    link_fault(linker, node, suffix, "input %zu '%.*s' %s", index, SLICE_PRINT(text), reason);
}

/* Returns NULL, or what is wrong with the input. */
static const char *
resolve_input(const Graph *graph, const Node *node, Slice text, NodeInput *ret_parsed, Endpoint *ret_endpoint)
{
    if (text.size == 0 && node_is_onnx(node)) {
        *ret_parsed = (NodeInput){.is_control = false};
        *ret_endpoint = (Endpoint){.node = NODE_NONE};
        return NULL;
    }
    if (!node_input_parse(text, ret_parsed)) {
        return "is none of 'node', 'node:port' and '^node'";
    }
    const Node *source = map_get(graph->by_name, ret_parsed->node);
    if (source == NULL) {
        return "names a node that does not exist";
    }
    *ret_endpoint = (Endpoint){.node = source->id, .port = ret_parsed->port};
    return NULL;
}

static int
compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static uint32_t
sort_unique_ids(uint32_t *ids, uint32_t count)
{
    if (count < 2) {
        return count;
    }
    qsort(ids, count, sizeof *ids, compare_ids);
    uint32_t kept = 1;
    for (uint32_t index = 1; index < count; index++) {
        if (ids[index] != ids[kept - 1]) {
            ids[kept++] = ids[index];
        }
    }
    return kept;
}

/* Leaves node->inputs NULL when one of them is at fault, so that later steps do not count them. */
static Status
link_node_inputs(Linker *linker, Node *node)
{
    const NodeDef *def = node->def;
    Endpoint *inputs = link_alloc(linker, def->input_count, sizeof *inputs);
    uint32_t *controls = link_alloc(linker, def->input_count, sizeof *controls);
    if (inputs == NULL || controls == NULL) {
        return call_fail_memory(linker->call, "the graph's edges");
    }
    size_t faults = linker->fault_count;
    for (size_t index = 0; index < def->input_count; index++) {
        NodeInput parsed;
        Endpoint endpoint;
        const char *reason = resolve_input(linker->graph, node, def->inputs[index], &parsed, &endpoint);
        if (reason != NULL) {
            input_fault(linker, node, index, reason);
        } else if (parsed.is_control) {
            controls[node->control_count++] = endpoint.node;
        } else if (node->control_count > 0) {
            input_fault(linker, node, index, "is a data input behind a control input");
        } else {
            inputs[node->input_count++] = endpoint;
        }
    }
    node->control_count = sort_unique_ids(controls, node->control_count);
    node->inputs = linker->fault_count == faults ? inputs : NULL;
    node->controls = controls;
    return STATUS_OK;
}

Status
link_inputs(Linker *linker)
{
    for (uint32_t id = 0; id < linker->graph->node_count; id++) {
        TRY(link_node_inputs(linker, &linker->graph->nodes[id]));
    }
    return STATUS_OK;
}

static Status
check_limits(Call *call, const GraphDef *def, const GraphLimits *limits)
{
    size_t node_count_max = limits->node_count_max == 0 ? GRAPH_NODE_COUNT_MAX : limits->node_count_max;
    if (def->node_count > node_count_max || def->node_count >= NODE_NONE) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the graph has %zu nodes, at most %zu are allowed",
            def->node_count, node_count_max);
    }
    if (def->producer < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the graph's producer version is %lld, at least 0",
            (long long)def->producer);
    }
    if (def->min_consumer > LINK_CONSUMER_VERSION_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the graph asks for a consumer of version %lld or later, this one is %d",
            (long long)def->min_consumer, LINK_CONSUMER_VERSION_MAX);
    }
    return STATUS_OK;
}

static Graph *
graph_new(GraphDef *def)
{
    AUTO_ARENA arena = arena_new(LINK_ARENA_SIZE_MAX);
    Graph *graph = arena == NULL ? NULL : arena_alloc(arena, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->nodes = arena_alloc(arena, def->node_count * sizeof *graph->nodes);
    graph->by_name = map_new();
    if (graph->nodes == NULL || graph->by_name == NULL) {
        map_free(graph->by_name);
        return NULL;
    }
    graph->reference_count = 1;
    graph->node_count = (uint32_t)def->node_count;
    graph->def = graph_def_ref(def);
    graph->arena = TAKE(arena);
    return graph;
}

static Status
run_steps(Linker *linker)
{
    TRY(link_names(linker));
    TRY(link_inputs(linker));
    TRY(link_attrs(linker));
    TRY(link_verdict(linker));
    TRY(link_order(linker));
    TRY(link_types(linker));
    return link_verdict(linker);
}

Status
graph_link(Call *call, GraphDef *def, OpFind find, GraphLimits limits, Graph **ret_graph)
{
    assert(find != NULL);
    TRY(check_limits(call, def, &limits));
    AUTO_GRAPH graph = graph_new(def);
    AUTO_MEMORY Attr **attrs = memory_new(def->node_count + 1, sizeof(Attr *));
    if (graph == NULL || attrs == NULL) {
        return call_fail_memory(call, "the graph");
    }
    Linker linker = {.call = call, .graph = graph, .find = find, .limits = limits, .attrs = attrs};
    TRY(run_steps(&linker));
    *ret_graph = TAKE(graph);
    return STATUS_OK;
}
