#include "shared/graph/frames.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "shared/base/map.h"

typedef enum FrameStep { STEP_NONE, STEP_ENTER, STEP_EXIT, STEP_NEXT, STEP_CONDITION } FrameStep;

typedef struct FrameOp {
    const char *op;
    FrameStep step;
} FrameOp;

static const FrameOp FRAME_OPS[] = {
    {"Enter", STEP_ENTER},
    {"RefEnter", STEP_ENTER},
    {"Exit", STEP_EXIT},
    {"RefExit", STEP_EXIT},
    {"NextIteration", STEP_NEXT},
    {"RefNextIteration", STEP_NEXT},
    {"LoopCond", STEP_CONDITION},
};

typedef struct Finder {
    Call *call;
    const Graph *graph;
    GraphFrame *frames;
    uint32_t frame_count;
    Map *by_name;
    uint32_t *inputs;
    uint32_t *outputs;
} Finder;

static FrameStep
node_step(const Node *node)
{
    if (node->op == NULL || (node->op->flags & OP_CONTROL_FLOW) == 0) {
        return STEP_NONE;
    }
    for (size_t i = 0; i < COUNT_OF(FRAME_OPS); i++) {
        if (slice_equals_string(node->def->op, FRAME_OPS[i].op)) {
            return FRAME_OPS[i].step;
        }
    }
    return STEP_NONE;
}

bool
node_is_loose_constant(const Node *node)
{
    return node->control_count == 0 && node->input_count == 0 &&
           (slice_equals_string(node->def->op, "Const") || slice_equals_string(node->def->op, "_BlobConst"));
}

static const char *
frame_text(const Finder *finder, uint32_t frame, char text[ERROR_MESSAGE_SIZE])
{
    if (frame == FRAME_ROOT) {
        return "from outside of all loops";
    }
    (void)snprintf(text, ERROR_MESSAGE_SIZE / 4, "from loop '%.*s'", SLICE_PRINT(finder->frames[frame].name));
    return text;
}

static Status
refuse_mixture(const Finder *finder, const Node *node, uint32_t one, uint32_t other)
{
    char texts[2][ERROR_MESSAGE_SIZE];
    return call_fail(finder->call, STATUS_INVALID_ARGUMENT,
        "node '%.*s' has inputs from different loops: one comes %s, one %s", SLICE_PRINT(node->name),
        frame_text(finder, one, texts[0]), frame_text(finder, other, texts[1]));
}

/* Compares an input's frame with *frame, which is NODE_NONE before the first. */
static Status
merge_input_frame(const Finder *finder, const Node *node, uint32_t source_id, uint32_t *frame)
{
    if (source_id == NODE_NONE) {
        return STATUS_OK;
    }
    const Node *source = &finder->graph->nodes[source_id];
    if (edge_is_back(source, node) || (node_is_loose_constant(source) && !node_is_merge(node))) {
        return STATUS_OK;
    }
    uint32_t other = finder->outputs[source_id];
    if (*frame != NODE_NONE && *frame != other) {
        return refuse_mixture(finder, node, *frame, other);
    }
    *frame = other;
    return STATUS_OK;
}

static Status
find_input_frame(const Finder *finder, const Node *node, uint32_t *ret_frame)
{
    uint32_t frame = NODE_NONE;
    for (uint32_t i = 0; i < node->input_count; i++) {
        TRY(merge_input_frame(finder, node, node->inputs[i].node, &frame));
    }
    for (uint32_t i = 0; i < node->control_count; i++) {
        TRY(merge_input_frame(finder, node, node->controls[i], &frame));
    }
    *ret_frame = frame == NODE_NONE ? FRAME_ROOT : frame;
    return STATUS_OK;
}

static Status
open_frame(Finder *finder, const Node *enter, uint32_t parent, uint32_t *ret_frame)
{
    Slice name = node_attr_string(enter, "frame_name");
    int64_t parallel = node_attr_int(enter, "parallel_iterations");
    if (parallel < 1) {
        return call_fail(finder->call, STATUS_INVALID_ARGUMENT,
            "node '%.*s': parallel_iterations must be at least 1, not %" PRId64, SLICE_PRINT(enter->name),
            parallel);
    }
    GraphFrame *frame = map_get(finder->by_name, name);
    if (frame == NULL && finder->frames[parent].depth == FRAME_DEPTH_MAX) {
        return call_fail(finder->call, STATUS_INVALID_ARGUMENT,
            "node '%.*s' enters a loop that is nested more than %d deep", SLICE_PRINT(enter->name),
            FRAME_DEPTH_MAX);
    }
    if (frame == NULL) {
        frame = &finder->frames[finder->frame_count++];
        *frame = (GraphFrame){.name = name,
            .parent = parent,
            .depth = finder->frames[parent].depth + 1,
            .enter = NODE_NONE,
            .loop_cond = NODE_NONE};
        if (!map_put(finder->by_name, name, frame)) {
            return call_fail_memory(finder->call, "a graph's loops");
        }
    }
    if (frame->parent != parent) {
        char texts[2][ERROR_MESSAGE_SIZE];
        return call_fail(finder->call, STATUS_INVALID_ARGUMENT,
            "node '%.*s' enters loop '%.*s' %s, others %s", SLICE_PRINT(enter->name), SLICE_PRINT(name),
            frame_text(finder, parent, texts[0]), frame_text(finder, frame->parent, texts[1]));
    }
    if (enter->id < frame->enter) { /* NODE_NONE is greater than all ids */
        frame->enter = enter->id;
        frame->parallel_iterations = parallel < UINT32_MAX ? (uint32_t)parallel : UINT32_MAX;
    }
    frame->enter_count++;
    *ret_frame = (uint32_t)(frame - finder->frames);
    return STATUS_OK;
}

static Status
refuse_outside(const Finder *finder, const Node *node)
{
    return call_fail(finder->call, STATUS_INVALID_ARGUMENT, "node '%.*s' of op '%.*s' is not inside a loop",
        SLICE_PRINT(node->name), SLICE_PRINT(node->def->op));
}

static Status
find_output_frame(Finder *finder, const Node *node, uint32_t input, uint32_t *ret_frame)
{
    FrameStep step = node_step(node);
    *ret_frame = input;
    if ((step == STEP_EXIT || step == STEP_NEXT) && input == FRAME_ROOT) {
        return refuse_outside(finder, node);
    }
    if (step == STEP_ENTER) {
        return open_frame(finder, node, input, ret_frame);
    }
    if (step == STEP_EXIT) {
        *ret_frame = finder->frames[input].parent;
    } else if (step == STEP_CONDITION && input != FRAME_ROOT &&
               finder->frames[input].loop_cond == NODE_NONE) {
        finder->frames[input].loop_cond = node->id;
    }
    return STATUS_OK;
}

/* The value of a NextIteration must return to the loop it comes from; both ends are known only when all
 * frames are. */
static Status
check_back_edges(const Finder *finder, const Node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t source = node->inputs[i].node;
        if (source != NODE_NONE && edge_is_back(&finder->graph->nodes[source], node) &&
            finder->outputs[source] != finder->inputs[node->id]) {
            return refuse_mixture(finder, node, finder->inputs[node->id], finder->outputs[source]);
        }
    }
    return STATUS_OK;
}

static Status
find_all_frames(Finder *finder)
{
    const Graph *graph = finder->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const Node *node = &graph->nodes[graph->order[i]];
        TRY(find_input_frame(finder, node, &finder->inputs[node->id]));
        TRY(find_output_frame(finder, node, finder->inputs[node->id], &finder->outputs[node->id]));
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        TRY(check_back_edges(finder, &graph->nodes[id]));
    }
    return STATUS_OK;
}

static size_t
count_enters(const Graph *graph)
{
    size_t count = 0;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        count += node_step(&graph->nodes[id]) == STEP_ENTER;
    }
    return count;
}

Status
graph_find_frames(Call *call, Arena *arena, const Graph *graph, GraphFrames *ret_frames)
{
    assert(graph->order != NULL);
    AUTO_MAP by_name = map_new();
    Finder finder = {
        .call = call,
        .graph = graph,
        .frames = arena_alloc(arena, (count_enters(graph) + 1) * sizeof *finder.frames),
        .frame_count = 1,
        .by_name = by_name,
        .inputs = arena_alloc(arena, (graph->node_count + 1) * sizeof *finder.inputs),
        .outputs = arena_alloc(arena, (graph->node_count + 1) * sizeof *finder.outputs),
    };
    if (by_name == NULL || finder.frames == NULL || finder.inputs == NULL || finder.outputs == NULL) {
        return call_fail_memory(call, "a graph's loops");
    }
    finder.frames[FRAME_ROOT] = (GraphFrame){.name = SLICE(""), .enter = NODE_NONE, .loop_cond = NODE_NONE};
    TRY(find_all_frames(&finder));
    *ret_frames = (GraphFrames){
        .frames = finder.frames,
        .frame_count = finder.frame_count,
        .inputs = finder.inputs,
        .outputs = finder.outputs,
    };
    return STATUS_OK;
}
