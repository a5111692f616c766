/* Divides nodes into frames, gives each a cell and slots, and turns inputs into edges.
 *
 * Order: frames and cells → the keys of transfers → slots, constants and the counts of awaited inputs by
 * consumer → edges by producer (one row for each node, data edges first). */
#include "worker/runtime/partition/stages.h"

#include "shared/base/text.h"

enum {
    PARALLEL_ITERATIONS_MAX = 256, /* more would cost memory without making loops faster */
    NUMBER_DIGITS = 20,
};

static size_t
path_size(const ScheduleFrame *frames, const ScheduleFrame *frame)
{
    size_t own = frame->name.size + 1 + NUMBER_DIGITS;
    return frame->parent == FRAME_ROOT ? own : frames[frame->parent].path_size + 1 + own;
}

static Status
copy_frames(Call *call, Partition *partition, const GraphFrames *found)
{
    partition->frames = arena_alloc(partition->arena, found->frame_count * sizeof *partition->frames);
    if (partition->frames == NULL) {
        return call_fail_memory(call, "a partition's loops");
    }
    for (uint32_t i = 0; i < found->frame_count; i++) {
        const GraphFrame *from = &found->frames[i];
        ScheduleFrame *frame = &partition->frames[i];
        frame->name = from->name;
        frame->number = i;
        frame->parent = from->parent;
        frame->depth = from->depth;
        frame->enter_count = from->enter_count;
        frame->parallel_iterations = from->parallel_iterations < PARALLEL_ITERATIONS_MAX
                                         ? from->parallel_iterations
                                         : PARALLEL_ITERATIONS_MAX;
        if (i != FRAME_ROOT) {
            frame->child_index = partition->frames[frame->parent].child_count++;
            frame->path_size = path_size(partition->frames, frame);
        }
    }
    partition->frame_count = found->frame_count;
    return STATUS_OK;
}

static bool
is_dynamic_node(const ScheduleNode *node)
{
    return node->kind != SCHEDULE_STATIC;
}

static Status
check_root(Call *call, const Partition *partition, const ScheduleNode *node)
{
    bool is_border = node->kind == SCHEDULE_ARG || node->kind == SCHEDULE_RETVAL;
    if (!is_border || node->frame == FRAME_ROOT) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "node '%.*s': what is inside loop '%.*s' has a value for each iteration, and can be neither fed nor "
        "fetched",
        SLICE_PRINT(node->node->name), SLICE_PRINT(partition->frames[node->frame].name));
}

/* Runs the loops around a stateful random op one iteration at a time: overlapping iterations would draw
 * from its sequence in any order, and results would differ from run to run. */
static void
order_draws(const Partition *partition, const ScheduleNode *node)
{
    if ((node->node->op->flags & OP_RANDOM) == 0 || !node_keeps_state(node->node)) {
        return;
    }
    for (uint32_t frame = node->frame; frame != FRAME_ROOT; frame = partition->frames[frame].parent) {
        partition->frames[frame].parallel_iterations = 1;
    }
}

static Status
assign_cells(Call *call, Partition *partition, const GraphFrames *found)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (is_dynamic_node(node)) {
            node->frame = found->inputs[i];
            node->child = found->outputs[i];
            node->cell = partition->frames[node->frame].cell_count++;
            TRY(check_root(call, partition, node));
            order_draws(partition, node);
        }
    }
    return STATUS_OK;
}

static Status
alloc_lists(Call *call, const Partition *partition, ScheduleFrame *frame)
{
    Arena *arena = partition->arena;
    size_t count = frame->cell_count + 1;
    frame->nodes = arena_alloc(arena, count * sizeof *frame->nodes);
    frame->initial = arena_alloc(arena, count * sizeof *frame->initial);
    frame->receives = arena_alloc(arena, count * sizeof *frame->receives);
    frame->exits = arena_alloc(arena, count * sizeof *frame->exits);
    frame->nexts = arena_alloc(arena, count * sizeof *frame->nexts);
    frame->constants = arena_alloc(arena, (frame->enter_count + 1) * sizeof *frame->constants);
    bool is_all = frame->nodes != NULL && frame->initial != NULL && frame->receives != NULL &&
                  frame->exits != NULL && frame->nexts != NULL && frame->constants != NULL;
    return is_all ? STATUS_OK : call_fail_memory(call, "a partition's loops");
}

static uint32_t
append_node(uint32_t *list, uint32_t *count, uint32_t node)
{
    list[*count] = node;
    return (*count)++;
}

static void
list_node(Partition *partition, uint32_t id)
{
    ScheduleNode *node = &partition->nodes[id];
    ScheduleFrame *frame = &partition->frames[node->frame];
    ScheduleFrame *child = &partition->frames[node->child];
    frame->nodes[node->cell] = id;
    if (node->kind == SCHEDULE_EXIT) {
        node->index = append_node(frame->exits, &frame->exit_count, id);
    } else if (node->kind == SCHEDULE_NEXT) {
        node->index = append_node(frame->nexts, &frame->next_count, id);
    } else if (node->kind == SCHEDULE_ENTER) {
        bool is_constant = node_attr_bool(node->node, "is_constant");
        node->index = is_constant ? append_node(child->constants, &child->constant_count, id) : SLOT_NONE;
    } else if (node->kind == SCHEDULE_SEND) {
        node->index = frame->transfer_count++;
    } else if (node->kind == SCHEDULE_RECV) {
        node->index = frame->transfer_count++;
        (void)append_node(frame->receives, &frame->receive_count, id);
    }
}

static Status
divide_into_frames(Call *call, Partition *partition)
{
    GraphFrames found = {0};
    TRY(graph_find_frames(call, partition->arena, partition->graph, &found));
    TRY(copy_frames(call, partition, &found));
    TRY(assign_cells(call, partition, &found));
    for (uint32_t i = 0; i < partition->frame_count; i++) {
        TRY(alloc_lists(call, partition, &partition->frames[i]));
    }
    for (uint32_t i = 0; i < partition->node_count; i++) {
        if (is_dynamic_node(&partition->nodes[i])) {
            list_node(partition, i);
        }
    }
    return STATUS_OK;
}

static Status
make_key(Call *call, const Partition *partition, ScheduleNode *node)
{
    ScheduleFrame *frame = &partition->frames[node->frame];
    const char *key = text_format(partition->arena, "%.*s;%.*s;%.*s;%s",
        SLICE_PRINT(node_attr_string(node->node, "send_device")),
        SLICE_PRINT(node_attr_string(node->node, "recv_device")),
        SLICE_PRINT(node_attr_string(node->node, "tensor_name")), node->frame == FRAME_ROOT ? "0:0" : "");
    if (key == NULL) {
        return call_fail_memory(call, "a partition's transfers");
    }
    node->key = slice_from_string(key);
    size_t size = node->key.size + frame->path_size;
    frame->key_size = size > frame->key_size ? size : frame->key_size;
    return STATUS_OK;
}

static Status
make_keys(Call *call, Partition *partition)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (node->kind == SCHEDULE_SEND || node->kind == SCHEDULE_RECV) {
            TRY(make_key(call, partition, node));
        }
    }
    return STATUS_OK;
}

static bool
is_dynamic(const Partition *partition, uint32_t node)
{
    return partition->nodes[node].kind != SCHEDULE_STATIC;
}

/* Returns whether an edge between two nodes stays within a part. */
static bool
is_within_part(const Partition *partition, uint32_t producer, const ScheduleNode *consumer)
{
    return consumer->part != NULL && partition->nodes[producer].part == consumer->part;
}

/* Returns the cell that counts an edge: for what comes to a part from outside, its first member's. */
static uint32_t
counting_cell(const Partition *partition, uint32_t producer, const ScheduleNode *consumer)
{
    bool is_outside = consumer->part != NULL && !is_within_part(partition, producer, consumer);
    return is_outside ? partition->nodes[consumer->part->members[0].node].cell : consumer->cell;
}

static uint64_t
count_data_edges(const Partition *partition, const ScheduleNode *node)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        uint32_t producer = node->node->inputs[i].node;
        count += producer != NODE_NONE && is_dynamic(partition, producer) &&
                 !is_within_part(partition, producer, node);
    }
    return count;
}

static uint64_t
count_control_edges(const Partition *partition, const ScheduleNode *node)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < node->node->control_count; i++) {
        uint32_t producer = node->node->controls[i];
        count += is_dynamic(partition, producer) && !is_within_part(partition, producer, node);
    }
    return count;
}

/* A word that members of a part start with, which edges within the part never bring to 0. */
static const uint64_t NEVER_READY = (uint64_t)1 << 31;

static uint64_t
initial_word_in_part(const Partition *partition, const ScheduleNode *node)
{
    const SchedulePart *part = node->part;
    if (node->node->id != part->members[0].node) {
        return NEVER_READY;
    }
    uint64_t count = 0;
    for (uint32_t i = 0; i < part->member_count; i++) {
        const ScheduleNode *member = &partition->nodes[part->members[i].node];
        count += count_data_edges(partition, member) + count_control_edges(partition, member);
    }
    return count;
}

/* Returns the word that a node's cell starts with: the number of edges that it waits for. A Merge is ready
 * with its first live input: bit 0 says "none yet", and every control input counts two (TensorFlow's
 * executor, initial pending counts). */
static uint64_t
initial_word(const Partition *partition, const ScheduleNode *node)
{
    if (node->part != NULL) {
        return initial_word_in_part(partition, node);
    }
    uint64_t controls = count_control_edges(partition, node);
    return node->kind == SCHEDULE_MERGE ? 1 + 2 * controls : count_data_edges(partition, node) + controls;
}

/* Returns the value of a constant in the memory in which the node reads it. */
static const Tensor *
constant_value(const Partition *partition, const ScheduleNode *node, uint32_t input)
{
    const ScheduleNode *constant = &partition->nodes[node->node->inputs[input].node];
    uint16_t memory = partition->accelerator == NULL ? MEMORY_HOST : input_memory(node, input);
    return memory == MEMORY_HOST || memory == MEMORY_ANY ? constant->value : constant->uploaded;
}

static Status
bind_constants(Call *call, Partition *partition, ScheduleNode *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        uint32_t producer = node->node->inputs[i].node;
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
        uint32_t producer = node->node->inputs[i].node;
        if (producer != NODE_NONE && !is_dynamic(partition, producer)) {
            constants[node->constant_count++] =
                (ScheduleConstant){.input = i, .value = constant_value(partition, node, i)};
        }
    }
    return STATUS_OK;
}

/* Finds the inputs that get a reference where the node wants a value. The executor reads them when all
 * inputs have arrived (TensorFlow's executor). */
static Status
find_references(Call *call, const Partition *partition, ScheduleNode *node)
{
    uint32_t *references = NULL;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        Endpoint from = node->node->inputs[i];
        bool is_read = from.node != NODE_NONE && !node_input_is_reference(node->node, i) &&
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
number_slots(Call *call, Partition *partition)
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

/* A visitor of edges between scheduled nodes. All data edges are visited before the control edges. */
typedef void (*EdgeVisit)(Partition *partition, ScheduleEdge *edges, uint32_t producer, ScheduleEdge edge);

static void
visit_data_edges(Partition *partition, ScheduleEdge *edges, EdgeVisit visit)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const ScheduleNode *consumer = &partition->nodes[i];
        for (uint32_t k = 0; k < consumer->node->input_count && is_dynamic(partition, i); k++) {
            Endpoint from = consumer->node->inputs[k];
            if (from.node != NODE_NONE && is_dynamic(partition, from.node)) {
                visit(partition, edges, from.node,
                    (ScheduleEdge){.cell = counting_cell(partition, from.node, consumer),
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
            uint32_t producer = consumer->node->controls[k];
            if (is_dynamic(partition, producer)) {
                visit(partition, edges, producer,
                    (ScheduleEdge){.cell = counting_cell(partition, producer, consumer),
                        .slot = SLOT_NONE,
                        .to_merge = consumer->kind == SCHEDULE_MERGE});
            }
        }
    }
}

static void
count_edge(Partition *partition, ScheduleEdge *edges, uint32_t producer, ScheduleEdge edge)
{
    (void)edges;
    (void)edge;
    partition->nodes[producer].edge_count++;
}

/* Appends an edge to the row of its producer. make_edges() has set the row's start and reset edge_count to
 * 0. */
static void
append_edge(Partition *partition, ScheduleEdge *edges, uint32_t producer, ScheduleEdge edge)
{
    ScheduleNode *node = &partition->nodes[producer];
    edges[(size_t)(node->edges - edges) + node->edge_count++] = edge;
}

static Status
make_edges(Call *call, Partition *partition)
{
    size_t total = 0;
    uint32_t port_max = 1;
    visit_data_edges(partition, NULL, count_edge);
    visit_control_edges(partition, NULL, count_edge);
    for (uint32_t i = 0; i < partition->node_count; i++) {
        uint32_t ports = partition->nodes[i].node->output_count;
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
    visit_data_edges(partition, edges, append_edge);
    visit_control_edges(partition, edges, append_edge);
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const ScheduleNode *node = &partition->nodes[i];
        mark_last_edges(&edges[node->edges - edges], node->edge_count, i + 1, seen);
    }
    return STATUS_OK;
}

static Status
connect_nodes(Call *call, Partition *partition)
{
    partition->roots = arena_alloc(partition->arena, (partition->node_count + 1) * sizeof(uint32_t));
    partition->costs = arena_alloc(partition->arena, (partition->node_count + 1) * sizeof(uint32_t));
    if (partition->roots == NULL || partition->costs == NULL) {
        return call_fail_memory(call, "a partition's schedule");
    }
    TRY(number_slots(call, partition));
    for (uint32_t i = 0; i < partition->node_count; i++) {
        bool is_measured = !partition->nodes[i].is_cheap;
        partition->costs[i] = is_measured ? COST_UNKNOWN : 0;
        partition->total_cost += is_measured ? COST_GUESS : 0;
    }
    return make_edges(call, partition);
}

Status
schedule_build(Call *call, Partition *partition)
{
    TRY(divide_into_frames(call, partition));
    TRY(make_keys(call, partition));
    TRY(find_parts(call, partition));
    TRY(connect_nodes(call, partition));
    return connect_parts(call, partition);
}
