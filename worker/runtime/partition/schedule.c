/* From a linked graph with classified nodes in frames to flat arrays: slots and constants by consumer, edges
 * by producer (compressed rows, data edges first), the words runs start with, and the roots. */
#include "worker/runtime/partition/schedule.h"

static bool
is_dynamic(const Partition *partition, uint32_t node)
{
    return partition->nodes[node].kind != SCHEDULE_STATIC;
}

/* --- Consumers: slots, constants, words ----------------------------------------------------------------- */

/* What a node waits for. A Merge is ready with its first live input: bit 0 says "none yet", every control
 * input counts two (TensorFlow's executor, initial pending counts). */
static uint64_t
initial_word(const Partition *partition, const ScheduleNode *node)
{
    uint64_t data = 0;
    uint64_t controls = 0;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const uint32_t producer = node->node->inputs[i].node;
        data += producer != NODE_NONE && is_dynamic(partition, producer);
    }
    for (uint32_t i = 0; i < node->node->control_count; i++) {
        controls += is_dynamic(partition, node->node->controls[i]);
    }
    return node->kind == SCHEDULE_MERGE ? 1 + 2 * controls : data + controls;
}

static Status
bind_constants(Call *call, Partition *partition, ScheduleNode *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const uint32_t producer = node->node->inputs[i].node;
        count += producer != NODE_NONE && !is_dynamic(partition, producer);
    }
    if (count == 0) {
        return STATUS_OK;
    }
    ScheduleConstant *constants = arena_alloc(partition->arena, count * sizeof *constants);
    if (constants == NULL) {
        return call_fail_memory(call, "a partition's constants");
    }
    node->constants = constants;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const uint32_t producer = node->node->inputs[i].node;
        if (producer != NODE_NONE && !is_dynamic(partition, producer)) {
            constants[node->constant_count++] =
                (ScheduleConstant){.input = i, .value = partition->nodes[producer].value};
        }
    }
    return STATUS_OK;
}

/* A reference that a node wants as a value is read when all its inputs have come (TensorFlow's executor). */
static Status
find_references(Call *call, const Partition *partition, ScheduleNode *node)
{
    uint32_t *references = NULL;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const Endpoint from = node->node->inputs[i];
        const bool is_read = from.node != NODE_NONE && !node_input_is_reference(node->node, i) &&
                             node_output_is_reference(&partition->graph->nodes[from.node], from.port);
        if (!is_read) {
            continue;
        }
        if (references == NULL) {
            references = arena_alloc(partition->arena, node->node->input_count * sizeof *references);
        }
        if (references == NULL) {
            return call_fail_memory(call, "a partition's references");
        }
        references[node->reference_count++] = i;
    }
    node->references = references;
    return STATUS_OK;
}

static Status
place_consumers(Call *call, Partition *partition)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        node->output_slot = SLOT_NONE;
        if (node->kind == SCHEDULE_STATIC) {
            continue;
        }
        ScheduleFrame *frame = &partition->frames[node->frame];
        node->slot = frame->slot_count;
        frame->slot_count += node->node->input_count;
        if (node->node->output_count > STACK_OUTPUTS) {
            node->output_slot = frame->slot_count;
            frame->slot_count += node->node->output_count;
        }
        frame->initial[node->cell] = initial_word(partition, node);
        if (frame->initial[node->cell] == 0) {
            partition->roots[partition->root_count++] = i;
        }
        TRY(bind_constants(call, partition, node));
        TRY(find_references(call, partition, node));
    }
    return STATUS_OK;
}

/* --- Producers: edges ----------------------------------------------------------------------------------- */

/* Visits all edges between scheduled nodes, the data edges of all nodes before the control edges. */
typedef void (*EdgeVisit)(Partition *partition, ScheduleEdge *edges, uint32_t producer, ScheduleEdge edge);

static void
visit_data_edges(Partition *partition, ScheduleEdge *edges, EdgeVisit visit)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const ScheduleNode *consumer = &partition->nodes[i];
        for (uint32_t k = 0; k < consumer->node->input_count && is_dynamic(partition, i); k++) {
            const Endpoint from = consumer->node->inputs[k];
            if (from.node != NODE_NONE && is_dynamic(partition, from.node)) {
                visit(partition, edges, from.node,
                    (ScheduleEdge){.cell = consumer->cell,
                        .slot = consumer->slot + k,
                        .port = from.port,
                        .to_merge = consumer->kind == SCHEDULE_MERGE,
                        .is_entry = partition->nodes[from.node].kind == SCHEDULE_ENTER});
            }
        }
    }
}

static void
visit_control_edges(Partition *partition, ScheduleEdge *edges, EdgeVisit visit)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const ScheduleNode *consumer = &partition->nodes[i];
        for (uint32_t k = 0; k < consumer->node->control_count && is_dynamic(partition, i); k++) {
            const uint32_t producer = consumer->node->controls[k];
            if (is_dynamic(partition, producer)) {
                visit(partition, edges, producer,
                    (ScheduleEdge){.cell = consumer->cell,
                        .slot = SLOT_NONE,
                        .to_merge = consumer->kind == SCHEDULE_MERGE});
            }
        }
    }
}

static void
edge_count(Partition *partition, ScheduleEdge *edges, uint32_t producer, ScheduleEdge edge)
{
    (void)edges;
    (void)edge;
    partition->nodes[producer].edge_count++;
}

/* The row's start is known, its length grows again. */
static void
edge_place(Partition *partition, ScheduleEdge *edges, uint32_t producer, ScheduleEdge edge)
{
    ScheduleNode *node = &partition->nodes[producer];
    edges[(size_t)(node->edges - edges) + node->edge_count++] = edge;
}

/* Backwards, the first edge seen of a port is its last. `seen` remembers by port for which node it was. */
static void
mark_last_edges(ScheduleEdge *edges, const ScheduleNode *node, uint32_t id, uint32_t *seen)
{
    ScheduleEdge *row = &edges[node->edges - edges];
    for (uint32_t i = node->edge_count; i-- > 0;) {
        if (row[i].slot != SLOT_NONE) {
            row[i].is_last = seen[row[i].port] != id + 1;
            seen[row[i].port] = id + 1;
        }
    }
}

static Status
place_edges(Call *call, Partition *partition)
{
    size_t total = 0;
    uint32_t port_max = 1;
    visit_data_edges(partition, NULL, edge_count);
    visit_control_edges(partition, NULL, edge_count);
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const uint32_t ports = partition->nodes[i].node->output_count;
        total += partition->nodes[i].edge_count;
        port_max = ports > port_max ? ports : port_max;
    }
    ScheduleEdge *edges = arena_alloc(partition->arena, (total + 1) * sizeof *edges);
    uint32_t *seen = arena_alloc(partition->arena, port_max * sizeof *seen);
    if (edges == NULL || seen == NULL) {
        return call_fail_memory(call, "a partition's edges");
    }
    size_t start = 0;
    for (uint32_t i = 0; i < partition->node_count; i++) {
        partition->nodes[i].edges = edges + start;
        start += partition->nodes[i].edge_count;
        partition->nodes[i].edge_count = 0;
    }
    visit_data_edges(partition, edges, edge_place);
    visit_control_edges(partition, edges, edge_place);
    for (uint32_t i = 0; i < partition->node_count; i++) {
        mark_last_edges(edges, &partition->nodes[i], i, seen);
    }
    return STATUS_OK;
}

Status
schedule_build(Call *call, Partition *partition)
{
    partition->roots = arena_alloc(partition->arena, (partition->node_count + 1) * sizeof(uint32_t));
    partition->costs = arena_alloc(partition->arena, (partition->node_count + 1) * sizeof(uint32_t));
    if (partition->roots == NULL || partition->costs == NULL) {
        return call_fail_memory(call, "a partition's schedule");
    }
    TRY(place_consumers(call, partition));
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const bool is_measured = !partition->nodes[i].is_cheap;
        partition->costs[i] = is_measured ? COST_UNKNOWN : 0;
        partition->total_cost += is_measured ? COST_GUESS : 0;
    }
    return place_edges(call, partition);
}
