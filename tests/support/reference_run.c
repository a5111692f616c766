#include "tests/support/reference_run.h"

static TensorBuffer *
heap_allocate(Device *device, size_t size)
{
    (void)device;
    return tensor_buffer_new(size);
}

static void
heap_memory(const Device *device, DeviceMemory *ret_memory)
{
    (void)device;
    *ret_memory = (DeviceMemory){0};
}

static void
heap_parallel_for(Device *device, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    (void)device;
    for (int64_t index = 0; index < count; index++) {
        body(context, index);
    }
}

const Kernel *
reference_find(const Node *node)
{
    for (size_t family = 0; family < reference_table_count; family++) {
        for (size_t index = 0; index < reference_table[family]->kernel_count; index++) {
            const Kernel *kernel = &reference_table[family]->kernels[index];
            if (slice_equals_string(node->op->name, kernel->op) &&
                (kernel->supports == NULL || kernel->supports(node))) {
                return kernel;
            }
        }
    }
    return NULL;
}

Status
reference_compute(Call *call, const Node *node, Tensor *inputs, Tensor *outputs)
{
    Device device = {.type = "CPU",
        .thread_count = 1,
        .allocate = heap_allocate,
        .memory = heap_memory,
        .parallel_for = heap_parallel_for};
    const Kernel *kernel = node->op == NULL ? NULL : reference_find(node);
    if (kernel == NULL) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "no reference kernel for '%.*s' of %s",
            SLICE_PRINT(node->def->op),
            node->input_count > 0 ? dtype_name(node->input_dtypes[0]) : "nothing");
    }
    void *state = NULL;
    if (kernel->create != NULL) {
        TRY(kernel->create(call, node, &state));
    }
    KernelContext context = {.call = call,
        .device = &device,
        .node = node,
        .state = state,
        .inputs = inputs,
        .input_count = node->input_count,
        .outputs = outputs,
        .output_count = node->output_count};
    Status status = kernel->compute(&context);
    if (kernel->destroy != NULL) {
        kernel->destroy(state);
    }
    return status;
}

typedef struct Run {
    Call *call;
    const Graph *graph;
    Tensor **values; /* by node: the node's outputs */
} Run;

static bool
is_fed(const ReferenceFeed *feeds, size_t feed_count, uint32_t node)
{
    for (size_t index = 0; index < feed_count; index++) {
        if (feeds[index].endpoint.node == node) {
            return true;
        }
    }
    return false;
}

static Status
run_node(Run *run, const Node *node)
{
    Tensor *inputs = arena_alloc(run->call->arena, (node->input_count + 1) * sizeof *inputs);
    if (inputs == NULL) {
        return call_fail_memory(run->call, "a node's inputs");
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint from = node->inputs[index];
        if (from.node != NODE_NONE) {
            inputs[index] = tensor_ref(&run->values[from.node][from.port]);
        }
    }
    Status status = reference_compute(run->call, node, inputs, run->values[node->id]);
    for (uint32_t index = 0; index < node->input_count; index++) {
        tensor_unref(&inputs[index]);
    }
    return status == STATUS_OK ? STATUS_OK
                               : call_wrap(run->call, "node '%.*s' (%.*s)", SLICE_PRINT(node->name),
                                     SLICE_PRINT(node->def->op));
}

static Status
make_values(Run *run)
{
    const Graph *graph = run->graph;
    run->values = arena_alloc(run->call->arena, (graph->node_count + 1) * sizeof *run->values);
    for (uint32_t id = 0; run->values != NULL && id < graph->node_count; id++) {
        run->values[id] = arena_alloc(run->call->arena, (graph->nodes[id].output_count + 1) * sizeof(Tensor));
        if (run->values[id] == NULL) {
            return call_fail_memory(run->call, "a run's values");
        }
    }
    return run->values == NULL ? call_fail_memory(run->call, "a run's values") : STATUS_OK;
}

static Status
run_needed(Run *run, const ReferenceFeed *feeds, size_t feed_count, const bool *needed)
{
    for (size_t index = 0; index < feed_count; index++) {
        Endpoint to = feeds[index].endpoint;
        run->values[to.node][to.port] = tensor_ref(&feeds[index].tensor);
    }
    for (uint32_t index = 0; index < run->graph->node_count; index++) {
        uint32_t id = run->graph->order[index];
        if (needed[id] && !is_fed(feeds, feed_count, id)) {
            TRY(run_node(run, &run->graph->nodes[id]));
        }
    }
    return STATUS_OK;
}

Status
reference_run(Call *call, const Graph *graph, const ReferenceFeed *feeds, size_t feed_count,
    const Endpoint *fetches, size_t fetch_count, Tensor *ret_tensors)
{
    Run run = {.call = call, .graph = graph};
    TRY(make_values(&run));
    bool *needed = arena_alloc(call->arena, graph->node_count + 1);
    uint32_t *roots = arena_alloc(call->arena, (fetch_count + 1) * sizeof *roots);
    if (needed == NULL || roots == NULL) {
        return call_fail_memory(call, "a run's nodes");
    }
    for (size_t index = 0; index < fetch_count; index++) {
        roots[index] = fetches[index].node;
    }
    graph_mark_needed(graph, roots, fetch_count, NULL, NULL, needed);
    Status status = run_needed(&run, feeds, feed_count, needed);
    for (size_t index = 0; index < fetch_count && status == STATUS_OK; index++) {
        ret_tensors[index] = tensor_ref(&run.values[fetches[index].node][fetches[index].port]);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        for (uint32_t port = 0; port < graph->nodes[id].output_count; port++) {
            tensor_unref(&run.values[id][port]);
        }
    }
    return status;
}
