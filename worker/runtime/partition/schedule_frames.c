/* Which frame each node runs in, its cell there, and what a frame has to know of its nodes. */
#include "shared/base/text.h"
#include "worker/runtime/partition/schedule.h"

enum {
    PARALLEL_ITERATIONS_MAX = 256, /* more would only take memory */
    NUMBER_DIGITS = 20,
};

/* --- Frames --------------------------------------------------------------------------------------------- */

static size_t
path_size(const ScheduleFrame *frames, const ScheduleFrame *frame)
{
    const size_t own = frame->name.size + 1 + NUMBER_DIGITS;
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

/* --- Nodes ---------------------------------------------------------------------------------------------- */

static bool
is_scheduled(const ScheduleNode *node)
{
    return node->kind != SCHEDULE_STATIC;
}

static Status
check_root(Call *call, const Partition *partition, const ScheduleNode *node)
{
    const bool is_border = node->kind == SCHEDULE_ARG || node->kind == SCHEDULE_RETVAL;
    if (!is_border || node->frame == FRAME_ROOT) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "node '%.*s': what is inside loop '%.*s' has a value for each iteration, and can be neither fed nor "
        "fetched",
        SLICE_PRINT(node->node->name), SLICE_PRINT(partition->frames[node->frame].name));
}

/* A sequence of random numbers has an order, and iterations that overlap would draw in any: those around such
 * a node come one after the other, so that the bits are the same in every run. */
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
place_nodes(Call *call, Partition *partition, const GraphFrames *found)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (is_scheduled(node)) {
            node->frame = found->inputs[i];
            node->child = found->outputs[i];
            node->cell = partition->frames[node->frame].cell_count++;
            TRY(check_root(call, partition, node));
            order_draws(partition, node);
        }
    }
    return STATUS_OK;
}

/* --- Lists ---------------------------------------------------------------------------------------------- */

static Status
alloc_lists(Call *call, const Partition *partition, ScheduleFrame *frame)
{
    Arena *arena = partition->arena;
    const size_t count = frame->cell_count + 1;
    frame->nodes = arena_alloc(arena, count * sizeof *frame->nodes);
    frame->initial = arena_alloc(arena, count * sizeof *frame->initial);
    frame->receives = arena_alloc(arena, count * sizeof *frame->receives);
    frame->exits = arena_alloc(arena, count * sizeof *frame->exits);
    frame->nexts = arena_alloc(arena, count * sizeof *frame->nexts);
    frame->constants = arena_alloc(arena, (frame->enter_count + 1) * sizeof *frame->constants);
    const bool is_all = frame->nodes != NULL && frame->initial != NULL && frame->receives != NULL &&
                        frame->exits != NULL && frame->nexts != NULL && frame->constants != NULL;
    return is_all ? STATUS_OK : call_fail_memory(call, "a partition's loops");
}

static uint32_t
add(uint32_t *list, uint32_t *count, uint32_t node)
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
        node->index = add(frame->exits, &frame->exit_count, id);
    } else if (node->kind == SCHEDULE_NEXT) {
        node->index = add(frame->nexts, &frame->next_count, id);
    } else if (node->kind == SCHEDULE_ENTER) {
        const bool is_constant = node_attr_bool(node->node, "is_constant");
        node->index = is_constant ? add(child->constants, &child->constant_count, id) : SLOT_NONE;
    } else if (node->kind == SCHEDULE_SEND) {
        node->index = frame->transfer_count++;
    } else if (node->kind == SCHEDULE_RECV) {
        node->index = frame->transfer_count++;
        (void)add(frame->receives, &frame->receive_count, id);
    }
}

Status
schedule_frames(Call *call, Partition *partition)
{
    GraphFrames found = {0};
    TRY(graph_find_frames(call, partition->arena, partition->graph, &found));
    TRY(copy_frames(call, partition, &found));
    TRY(place_nodes(call, partition, &found));
    for (uint32_t i = 0; i < partition->frame_count; i++) {
        TRY(alloc_lists(call, partition, &partition->frames[i]));
    }
    for (uint32_t i = 0; i < partition->node_count; i++) {
        if (is_scheduled(&partition->nodes[i])) {
            list_node(partition, i);
        }
    }
    return STATUS_OK;
}

/* --- Transfers ------------------------------------------------------------------------------------------ */

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
    const size_t size = node->key.size + frame->path_size;
    frame->key_size = size > frame->key_size ? size : frame->key_size;
    return STATUS_OK;
}

Status
schedule_keys(Call *call, Partition *partition)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (node->kind == SCHEDULE_SEND || node->kind == SCHEDULE_RECV) {
            TRY(make_key(call, partition, node));
        }
    }
    return STATUS_OK;
}
