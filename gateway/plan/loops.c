/* Loops of the pruned graph: what may be fed and fetched, and which nodes of a loop must share a slot.
 *
 * A loop may lie on several slots; a control loop then drives the part on each of them (control_loops.c).
 * Edges that carry no value in some iteration must not be cut: those out of a NextIteration have none in
 * the first, those out of an Enter that is not constant only in the first. */
#include <assert.h>

#include "gateway/plan/placement.h"
#include "gateway/plan/stages.h"

static bool
is_next_iteration(const Node *node)
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
refuse_inside_loop(const Compile *compile, const char *what, Slice name, Slice loop)
{
    return call_fail(compile->call, STATUS_INVALID_ARGUMENT,
        "%s '%.*s' is inside loop '%.*s': it has a value for each iteration; "
        "only what enters a loop can be fed, and what leaves it fetched",
        what, SLICE_PRINT(name), SLICE_PRINT(loop));
}

/* Looks at the author's graph, where the nodes that are fed still have their inputs. A contradiction there
 * is ignored: find_loops() judges the part that is needed. */
Status
check_feeds(const Compile *compile)
{
    const Signature *signature = compile->request->signature;
    Call scratch = {.arena = compile->call->arena};
    GraphFrames frames;
    assert(compile->feeds != NULL);
    if (signature->feed_count == 0 || !has_loops(compile->source)) {
        return STATUS_OK;
    }
    Status found = graph_find_frames(&scratch, compile->call->arena, compile->source, &frames);
    if (found != STATUS_OK) {
        return found == STATUS_RESOURCE_EXHAUSTED ? compile_no_memory(compile) : STATUS_OK;
    }
    for (size_t index = 0; index < signature->feed_count; index++) {
        uint32_t frame = frames.outputs[compile->feeds[index].node];
        if (frame != FRAME_ROOT) {
            return refuse_inside_loop(
                compile, "feed", signature->feeds[index].name, frames.frames[frame].name);
        }
    }
    return STATUS_OK;
}

Status
find_loops(Compile *compile)
{
    const Graph *graph = compile->graph;
    GraphFrames *frames = &compile->frames;
    assert(graph != NULL && compile->ports != NULL);
    TRY(graph_find_frames(compile->call, compile->call->arena, graph, frames));
    for (uint32_t id = 0; id < graph->node_count; id++) {
        uint32_t frame = frames->inputs[id];
        if (frame != FRAME_ROOT && op_is(&graph->nodes[id], "_Retval")) {
            return refuse_inside_loop(compile, "fetch",
                compile->request->signature->fetches[compile->ports[id]], frames->frames[frame].name);
        }
    }
    return STATUS_OK;
}

static uint32_t
outermost_frame(const GraphFrames *frames, uint32_t frame)
{
    while (frame != FRAME_ROOT && frames->frames[frame].parent != FRAME_ROOT) {
        frame = frames->frames[frame].parent;
    }
    return frame;
}

/* Returns the loop that a node is part of; an Enter and an Exit belong to the loop that they lead into or
 * out of. */
static uint32_t
node_frame(const GraphFrames *frames, uint32_t id)
{
    uint32_t input = frames->inputs[id];
    uint32_t output = frames->outputs[id];
    return frames->frames[input].depth > frames->frames[output].depth ? input : output;
}

/* Keeps a loop whole unless nodes are to be spread or those of the loop ask for different tasks. A loop
 * without a LoopCond is always kept whole, since nothing could drive a part of it. */
static Status
find_whole_loops(const Compile *compile, bool *is_whole)
{
    const GraphFrames *frames = &compile->frames;
    bool is_spread = compile->request->signature->options.placement == PLACEMENT_SPREAD;
    int32_t *tasks = compile_alloc(compile, frames->frame_count, sizeof *tasks);
    if (tasks == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t frame = 0; frame < frames->frame_count; frame++) {
        is_whole[frame] = !is_spread;
        tasks[frame] = PLAN_TASK_NONE;
    }
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        uint32_t loop = outermost_frame(frames, node_frame(frames, id));
        DeviceRequest request;
        TRY(device_request(compile, compile->graph->nodes[id].def, &request));
        int32_t task = request.task;
        is_whole[loop] = is_whole[loop] &&
                         (task == PLAN_TASK_NONE || tasks[loop] == PLAN_TASK_NONE || tasks[loop] == task);
        tasks[loop] = task == PLAN_TASK_NONE ? tasks[loop] : task;
    }
    for (uint32_t frame = 1; frame < frames->frame_count; frame++) {
        if (frames->frames[frame].loop_cond == NODE_NONE) {
            is_whole[outermost_frame(frames, frame)] = true;
        }
    }
    return STATUS_OK;
}

static void
unite_inputs(const Compile *compile, const Node *node, const NodeUnion *unite)
{
    for (uint32_t index = 0; index < node->input_count + node->control_count; index++) {
        uint32_t source =
            index < node->input_count ? node->inputs[index].node : node->controls[index - node->input_count];
        if (source == NODE_NONE) {
            continue;
        }
        const Node *from = &compile->graph->nodes[source];
        if (is_next_iteration(from) || (is_enter(from) && !is_constant_enter(from))) {
            unite->unite(unite->context, source, node->id);
        }
    }
}

Status
unite_loops(const Compile *compile, const NodeUnion *unite)
{
    const GraphFrames *frames = &compile->frames;
    assert(frames->frames != NULL && unite->unite != NULL);
    if (frames->frame_count == 1) {
        return STATUS_OK;
    }
    bool *is_whole = compile_alloc(compile, frames->frame_count, sizeof *is_whole);
    if (is_whole == NULL) {
        return compile_no_memory(compile);
    }
    TRY(find_whole_loops(compile, is_whole));
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        uint32_t loop = outermost_frame(frames, node_frame(frames, id));
        unite_inputs(compile, &compile->graph->nodes[id], unite);
        if (loop != FRAME_ROOT && is_whole[loop]) {
            unite->unite(unite->context, frames->frames[loop].enter, id);
        }
    }
    return STATUS_OK;
}
