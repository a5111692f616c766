#include "worker/runtime/memory/flow.h"

static bool
is_edge(const Partition *partition, uint32_t from, const ScheduleNode *to)
{
    return from != NODE_NONE && partition->nodes[from].kind != SCHEDULE_STATIC &&
           to->kind != SCHEDULE_STATIC && partition->nodes[from].kind != SCHEDULE_NEXT;
}

/* Writes a node's predecessors to `row` and returns how many there are. `row` may be NULL, to count only. */
static uint32_t
fill_row(const Partition *partition, const ScheduleNode *node, uint32_t *row)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        uint32_t from = node->node->inputs[i].node;
        if (is_edge(partition, from, node)) {
            if (row != NULL) {
                row[count] = from;
            }
            count++;
        }
    }
    for (uint32_t i = 0; i < node->node->control_count; i++) {
        if (is_edge(partition, node->node->controls[i], node)) {
            if (row != NULL) {
                row[count] = node->node->controls[i];
            }
            count++;
        }
    }
    return count;
}

bool
flow_new(Arena *arena, const Partition *partition, Flow *ret_flow)
{
    uint32_t node_count = partition->node_count;
    uint32_t *starts = arena_alloc(arena, ((size_t)node_count + 1) * sizeof *starts);
    for (uint32_t i = 0; starts != NULL && i < node_count; i++) {
        starts[i + 1] = starts[i] + fill_row(partition, &partition->nodes[i], NULL);
    }
    uint32_t *before =
        starts == NULL ? NULL : arena_alloc(arena, ((size_t)starts[node_count] + 1) * sizeof *before);
    for (uint32_t i = 0; before != NULL && i < node_count; i++) {
        (void)fill_row(partition, &partition->nodes[i], before + starts[i]);
    }
    *ret_flow = (Flow){
        .node_count = node_count, .order = partition->graph->order, .starts = starts, .before = before};
    return before != NULL;
}

bool
flow_sweep_new(Arena *arena, const Flow *flow, FlowSweep *ret_sweep)
{
    *ret_sweep = (FlowSweep){
        .flow = flow,
        .bits = arena_alloc(arena, (size_t)flow->node_count + 1),
        .before = arena_alloc(arena, ((size_t)flow->node_count + 1) * sizeof *ret_sweep->before),
    };
    return ret_sweep->bits != NULL && ret_sweep->before != NULL;
}

bool
flow_sweep_mark(FlowSweep *sweep, uint32_t node)
{
    if (sweep->bits[node] == 0 && sweep->marked_count == FLOW_SWEEP_MAX) {
        return false;
    }
    if (sweep->bits[node] == 0) {
        sweep->marked[sweep->marked_count++] = node;
        sweep->bits[node] = (uint8_t)sweep->marked_count;
    }
    return true;
}

/* Propagates the marks through the graph in topological order. A marked node's own bit is set meanwhile,
 * so that its successors inherit it, and cleared at the end, since no node comes before itself. */
void
flow_sweep_run(FlowSweep *sweep)
{
    const Flow *flow = sweep->flow;
    for (uint32_t position = 0; position < flow->node_count; position++) {
        uint32_t node = flow->order[position];
        uint64_t mask = sweep->bits[node] == 0 ? 0 : flow_sweep_bit(sweep, node);
        for (uint32_t i = flow->starts[node]; i < flow->starts[node + 1]; i++) {
            mask |= sweep->before[flow->before[i]];
        }
        sweep->before[node] = mask;
    }
    for (uint32_t i = 0; i < sweep->marked_count; i++) {
        sweep->before[sweep->marked[i]] &= ~((uint64_t)1 << i);
    }
}

void
flow_sweep_clear(FlowSweep *sweep)
{
    while (sweep->marked_count > 0) {
        sweep->bits[sweep->marked[--sweep->marked_count]] = 0;
    }
}
