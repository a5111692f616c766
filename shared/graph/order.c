/* Sorts topologically by Kahn's algorithm, the lowest ready id first: TensorFlow imports graphs in this
 * order, and it makes every later stage deterministic. Edges NextIteration → Merge are left out, since
 * they close loops. */
#include <assert.h>

#include "shared/graph/linker.h"

/* The edges out of node n lead to targets[starts[n]] … targets[starts[n + 1] - 1]. */
typedef struct Walk {
    const Graph *graph;
    uint32_t *starts;
    uint32_t *targets;
    uint32_t *pending; /* by node: edges in that have not been visited */
    uint32_t *heap;    /* ready nodes, the lowest id on top */
    uint32_t heap_count;
} Walk;

static void
heap_push(Walk *walk, uint32_t id)
{
    uint32_t at = walk->heap_count++;
    while (at > 0 && walk->heap[(at - 1) / 2] > id) {
        walk->heap[at] = walk->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    walk->heap[at] = id;
}

static uint32_t
heap_pop(Walk *walk)
{
    uint32_t top = walk->heap[0];
    uint32_t last = walk->heap[--walk->heap_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < walk->heap_count && walk->heap[child + 1] < walk->heap[child]) {
            child++;
        }
        if (child >= walk->heap_count || walk->heap[child] >= last) {
            break;
        }
        walk->heap[at] = walk->heap[child];
        at = child;
    }
    walk->heap[at] = last;
    return top;
}

/* Returns the source of the node's `index`-th edge in, data before control; NULL for one that is left out. */
static const Node *
edge_source(const Graph *graph, const Node *node, uint32_t index)
{
    if (index >= node->input_count) {
        return &graph->nodes[node->controls[index - node->input_count]];
    }
    uint32_t id = node->inputs[index].node;
    if (id == NODE_NONE || edge_is_back(&graph->nodes[id], node)) {
        return NULL;
    }
    return &graph->nodes[id];
}

static uint32_t
edge_count(const Node *node)
{
    return node->input_count + node->control_count;
}

static void
count_edges(Walk *walk)
{
    const Graph *graph = walk->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        for (uint32_t index = 0; index < edge_count(node); index++) {
            const Node *source = edge_source(graph, node, index);
            if (source != NULL) {
                walk->starts[source->id + 1]++;
                walk->pending[id]++;
            }
        }
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        walk->starts[id + 1] += walk->starts[id];
    }
}

/* Fills the targets of each node from the back, which moves starts[] to where it has to be. */
static void
fill_edges(Walk *walk)
{
    const Graph *graph = walk->graph;
    for (uint32_t id = graph->node_count; id-- > 0;) {
        const Node *node = &graph->nodes[id];
        for (uint32_t index = 0; index < edge_count(node); index++) {
            const Node *source = edge_source(graph, node, index);
            if (source != NULL) {
                walk->targets[--walk->starts[source->id + 1]] = id;
            }
        }
    }
    /* The targets of n begin at starts[n + 1] now. */
    for (uint32_t id = 0; id < graph->node_count; id++) {
        walk->starts[id] = walk->starts[id + 1];
    }
}

static uint32_t
walk_nodes(Walk *walk, uint32_t edge_total, uint32_t *order)
{
    uint32_t node_count = walk->graph->node_count;
    for (uint32_t id = 0; id < node_count; id++) {
        if (walk->pending[id] == 0) {
            heap_push(walk, id);
        }
    }
    uint32_t done = 0;
    while (walk->heap_count > 0) {
        uint32_t id = heap_pop(walk);
        order[done++] = id;
        uint32_t end = id + 1 < node_count ? walk->starts[id + 1] : edge_total;
        for (uint32_t edge = walk->starts[id]; edge < end; edge++) {
            if (--walk->pending[walk->targets[edge]] == 0) {
                heap_push(walk, walk->targets[edge]);
            }
        }
    }
    return done;
}

static Status
fail_cycle(Linker *linker, const Walk *walk, uint32_t done)
{
    const Graph *graph = linker->graph;
    Slice first = {.size = 0};
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (walk->pending[id] > 0) {
            first = first.size == 0 ? slice_part(graph->nodes[id].name, 0, 128) : first;
            link_fault(linker, &graph->nodes[id], "", "lies in or behind a cycle");
        }
    }
    return call_fail(linker->call, STATUS_INVALID_ARGUMENT,
        "%u nodes in or behind a cycle, the first is '%.*s'", graph->node_count - done, SLICE_PRINT(first));
}

Status
link_order(Linker *linker)
{
    Graph *graph = linker->graph;
    assert(linker->fault_count == 0);
    size_t node_count = graph->node_count;
    size_t edge_total = 0;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        edge_total += edge_count(&graph->nodes[id]);
    }
    AUTO_MEMORY uint32_t *memory = memory_new(3 * (node_count + 1) + edge_total, sizeof *memory);
    uint32_t *order = link_alloc(linker, node_count, sizeof *order);
    if (memory == NULL || order == NULL || edge_total > UINT32_MAX) {
        return call_fail_memory(linker->call, "the graph's order");
    }
    Walk walk = {.graph = graph,
        .starts = memory,
        .pending = memory + node_count + 1,
        .heap = memory + 2 * (node_count + 1),
        .targets = memory + 3 * (node_count + 1)};
    count_edges(&walk);
    uint32_t counted = walk.starts[node_count];
    fill_edges(&walk);
    uint32_t done = walk_nodes(&walk, counted, order);
    if (done < node_count) {
        return fail_cycle(linker, &walk, done);
    }
    graph->order = order;
    return STATUS_OK;
}
