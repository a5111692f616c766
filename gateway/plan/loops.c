/* Loops of the pruned graph: what may be fed and fetched, and which nodes of a loop must share a slot.
 *
 * A loop may lie on several slots; the partitioner then drives each part by a control loop (control_loops.c).
 * Some edges must not be cut, for they do not carry a value in every iteration: those out of a NextIteration
 * (none in the first) and out of an Enter that is not constant (in the first alone). */
#include "gateway/plan/placement.h"
#include "gateway/plan/stages.h"

static bool
is_next(const Node *node)
{
    return op_is(node, "NextIteration") || op_is(node, "RefNextIteration");
}

static bool
is_enter(const Node *node)
{
    return op_is(node, "Enter") || op_is(node, "RefEnter");
}

bool
is_constant_enter(const Node *node)
{
    return is_enter(node) && node_attr_bool(node, "is_constant");
}

static bool
has_loops(const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (is_enter(&graph->nodes[id])) {
            return true;
        }
    }
    return false;
}

static Status
refuse_inside(const Compile *compile, const char *what, Slice name, Slice loop)
{
    return call_fail(compile->call, STATUS_INVALID_ARGUMENT,
        "%s '%.*s' is inside loop '%.*s': it has a value for each iteration; only what enters a loop can be "
        "fed, "
        "and what leaves it fetched",
        what, SLICE_PRINT(name), SLICE_PRINT(loop));
}

/* Of the author's graph, in which the fed nodes still have their inputs. When that contradicts itself, the
 * needed part of it is judged later. */
Status
check_feeds(const Compile *compile)
{
    const Signature *const signature = compile->request->signature;
    Call scratch = {.arena = compile->call->arena};
    GraphFrames frames;
    if (signature->feed_count == 0 || !has_loops(compile->source)) {
        return STATUS_OK;
    }
    const Status found = graph_find_frames(&scratch, compile->call->arena, compile->source, &frames);
    if (found != STATUS_OK) {
        return found == STATUS_RESOURCE_EXHAUSTED ? compile_no_memory(compile) : STATUS_OK;
    }
    for (size_t index = 0; index < signature->feed_count; index++) {
        const uint32_t frame = frames.outputs[compile->feeds[index].node];
        if (frame != FRAME_ROOT) {
            return refuse_inside(compile, "feed", signature->feeds[index].name, frames.frames[frame].name);
        }
    }
    return STATUS_OK;
}

Status
find_loops(Compile *compile)
{
    const Graph *const graph = compile->graph;
    GraphFrames *const frames = &compile->frames;
    TRY(graph_find_frames(compile->call, compile->call->arena, graph, frames));
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const uint32_t frame = frames->inputs[id];
        if (frame != FRAME_ROOT && op_is(&graph->nodes[id], "_Retval")) {
            return refuse_inside(compile, "fetch", compile->request->signature->fetches[compile->ports[id]],
                frames->frames[frame].name);
        }
    }
    return STATUS_OK;
}

static uint32_t
outermost(const GraphFrames *frames, uint32_t frame)
{
    while (frame != FRAME_ROOT && frames->frames[frame].parent != FRAME_ROOT) {
        frame = frames->frames[frame].parent;
    }
    return frame;
}

/* The loop a node is part of; Enters and Exits belong to the one they lead into and out of. */
static uint32_t
frame_of(const GraphFrames *frames, uint32_t id)
{
    const uint32_t input = frames->inputs[id];
    const uint32_t output = frames->outputs[id];
    return frames->frames[input].depth > frames->frames[output].depth ? input : output;
}

/* A loop is kept whole unless it was to be spread, or its nodes ask for different tasks; and always when
 * there is nothing that could drive a part of it. */
static Status
find_whole_loops(const Compile *compile, bool *is_whole)
{
    const GraphFrames *const frames = &compile->frames;
    const bool is_spread = compile->request->signature->options.placement == PLACEMENT_SPREAD;
    int32_t *const tasks = compile_alloc(compile, frames->frame_count, sizeof *tasks);
    if (tasks == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t frame = 0; frame < frames->frame_count; frame++) {
        is_whole[frame] = !is_spread;
        tasks[frame] = PLAN_TASK_NONE;
    }
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        const uint32_t loop = outermost(frames, frame_of(frames, id));
        int32_t task = PLAN_TASK_NONE;
        TRY(device_request(compile, &compile->graph->nodes[id], &task));
        is_whole[loop] = is_whole[loop] &&
                         (task == PLAN_TASK_NONE || tasks[loop] == PLAN_TASK_NONE || tasks[loop] == task);
        tasks[loop] = task == PLAN_TASK_NONE ? tasks[loop] : task;
    }
    for (uint32_t frame = 1; frame < frames->frame_count; frame++) {
        if (frames->frames[frame].loop_cond == NODE_NONE) {
            is_whole[outermost(frames, frame)] = true;
        }
    }
    return STATUS_OK;
}

static void
unite_inputs(const Compile *compile, const Node *node, const NodeUnion *unite)
{
    for (uint32_t index = 0; index < node->input_count + node->control_count; index++) {
        const uint32_t source =
            index < node->input_count ? node->inputs[index].node : node->controls[index - node->input_count];
        if (source == NODE_NONE) {
            continue;
        }
        const Node *const from = &compile->graph->nodes[source];
        if (is_next(from) || (is_enter(from) && !is_constant_enter(from))) {
            unite->unite(unite->context, source, node->id);
        }
    }
}

Status
unite_loops(const Compile *compile, const NodeUnion *unite)
{
    const GraphFrames *const frames = &compile->frames;
    if (frames->frame_count == 1) {
        return STATUS_OK;
    }
    bool *const is_whole = compile_alloc(compile, frames->frame_count, sizeof *is_whole);
    if (is_whole == NULL) {
        return compile_no_memory(compile);
    }
    TRY(find_whole_loops(compile, is_whole));
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        const uint32_t loop = outermost(frames, frame_of(frames, id));
        unite_inputs(compile, &compile->graph->nodes[id], unite);
        if (loop != FRAME_ROOT && is_whole[loop]) {
            unite->unite(unite->context, frames->frames[loop].enter, id);
        }
    }
    return STATUS_OK;
}
