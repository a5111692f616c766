/* Infers the shapes of all outputs in one walk in topological order, by the ops' rules. Values of
 * constants are known, also behind an Identity; a seed overrides what is inferred for its output. */
#include <assert.h>

#include "shared/graph/graph.h"

typedef struct Inference {
    Call *call;
    const Graph *graph;
    Shape **shapes;          /* [node][port] */
    const Tensor **values;   /* by node: the value of output 0, NULL when it is no constant */
    const ShapeSeed **seeds; /* by node: its first seed; its other seeds follow in the list */
    const ShapeSeed *seed_list;
    size_t seed_count;
    Shape *input_shapes; /* scratch memory for the node with the most inputs */
    const Tensor **input_values;
} Inference;

static const Tensor *
constant_value(const Inference *inference, const Node *node)
{
    if (slice_equal(node->def->op, SLICE("Const"))) {
        return node_known_value(node);
    }
    bool is_identity =
        slice_equal(node->def->op, SLICE("Identity")) || slice_equal(node->def->op, SLICE("onnx::Identity"));
    if (is_identity && node->input_count == 1 && node->inputs[0].node != NODE_NONE &&
        node->inputs[0].port == 0) {
        return inference->values[node->inputs[0].node];
    }
    return NULL;
}

static void
gather_inputs(Inference *inference, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint endpoint = node->inputs[index];
        /* A value that comes back in a loop is not known yet. */
        bool is_known = endpoint.node != NODE_NONE && inference->shapes[endpoint.node] != NULL &&
                        endpoint.port < inference->graph->nodes[endpoint.node].output_count;
        inference->input_shapes[index] =
            is_known ? inference->shapes[endpoint.node][endpoint.port] : shape_unknown();
        inference->input_values[index] =
            is_known && endpoint.port == 0 ? inference->values[endpoint.node] : NULL;
    }
}

/* The values of a loop's Merge have the rank of the first one; their dimensions may change in every
 * iteration. */
static bool
infer_loop_merge(const Inference *inference, const Node *node, Shape *outputs)
{
    bool is_loop = false;
    int rank = -1;
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node == NODE_NONE) {
            continue;
        }
        if (edge_is_back(&inference->graph->nodes[node->inputs[index].node], node)) {
            is_loop = true;
        } else {
            rank = inference->input_shapes[index].rank;
        }
    }
    if (is_loop && node->output_count > 0) {
        outputs[0] = rank < 0 ? shape_unknown() : shape_of_rank(rank);
        for (uint32_t port = 1; port < node->output_count; port++) {
            outputs[port] = shape_scalar();
        }
    }
    return is_loop;
}

static uint32_t
apply_seeds(Inference *inference, const Node *node)
{
    uint32_t applied = 0;
    const ShapeSeed *first = inference->seeds[node->id];
    if (first == NULL) {
        return 0;
    }
    const ShapeSeed *end = inference->seed_list + inference->seed_count;
    for (const ShapeSeed *seed = first; seed < end; seed++) {
        if (seed->endpoint.node != node->id || seed->endpoint.port >= node->output_count) {
            continue;
        }
        inference->shapes[node->id][seed->endpoint.port] = seed->shape;
        applied++;
        if (seed->endpoint.port == 0) {
            inference->values[node->id] = seed->value;
        }
    }
    return applied;
}

static Status
infer_node(Inference *inference, const Node *node)
{
    Shape *outputs = arena_alloc(inference->call->arena, node->output_count * sizeof *outputs);
    if (outputs == NULL) {
        return call_fail_memory(inference->call, "shapes");
    }
    for (uint32_t port = 0; port < node->output_count; port++) {
        outputs[port] = shape_unknown();
    }
    inference->shapes[node->id] = outputs;
    inference->values[node->id] = constant_value(inference, node);
    if (apply_seeds(inference, node) >= node->output_count && node->output_count > 0) {
        return STATUS_OK;
    }
    gather_inputs(inference, node);
    bool is_loop_merge = node_is_merge(node) && infer_loop_merge(inference, node, outputs);
    if (is_loop_merge || node->op == NULL || node->op->infer_shapes == NULL) {
        (void)apply_seeds(inference, node);
        return STATUS_OK;
    }
    InferContext context = {.node = node,
        .inputs = inference->input_shapes,
        .values = inference->input_values,
        .outputs = outputs};
    if (node->op->infer_shapes(inference->call, &context) != STATUS_OK) {
        return call_wrap(inference->call, "node '%.*s' (%.*s)", SLICE_PRINT(slice_part(node->name, 0, 128)),
            SLICE_PRINT(node->op->name));
    }
    (void)apply_seeds(inference, node);
    return STATUS_OK;
}

static bool
inference_alloc(Inference *inference)
{
    const Graph *graph = inference->graph;
    Arena *arena = inference->call->arena;
    size_t input_max = 0;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        input_max = graph->nodes[id].input_count > input_max ? graph->nodes[id].input_count : input_max;
    }
    inference->shapes = arena_alloc(arena, graph->node_count * sizeof(Shape *));
    inference->values = arena_alloc(arena, graph->node_count * sizeof(Tensor *));
    inference->seeds = arena_alloc(arena, graph->node_count * sizeof(ShapeSeed *));
    inference->input_shapes = arena_alloc(arena, input_max * sizeof(Shape));
    inference->input_values = arena_alloc(arena, input_max * sizeof(Tensor *));
    return inference->shapes != NULL && inference->values != NULL && inference->seeds != NULL &&
           inference->input_shapes != NULL && inference->input_values != NULL;
}

Status
graph_infer_shapes(Call *call, const Graph *graph, const ShapeSeed *seeds, size_t seed_count,
    const Shape *const **ret_shapes)
{
    Inference inference = {.call = call, .graph = graph, .seed_list = seeds, .seed_count = seed_count};
    if (!inference_alloc(&inference)) {
        return call_fail_memory(call, "shapes");
    }
    for (size_t index = seed_count; index-- > 0;) {
        assert(seeds[index].endpoint.node < graph->node_count);
        inference.seeds[seeds[index].endpoint.node] = &seeds[index];
    }
    for (uint32_t index = 0; index < graph->node_count; index++) {
        TRY(infer_node(&inference, &graph->nodes[graph->order[index]]));
    }
    *ret_shapes = (const Shape *const *)inference.shapes;
    return STATUS_OK;
}
