/* Which loop each node is in. A loop stays on one slot as a whole: only tensors that enter and leave it
 * cross.
 *
 * Enter opens the frame its frame_name names, Exit returns to the one outside (TensorFlow's
 * BuildControlFlowInfo). Only outermost loops matter here, but inner ones must be told apart to find the way
 * back. */
#include "gateway/plan/compile.h"

enum { FRAME_ROOT = 0 };

typedef struct Frame {
    Slice name;
    uint32_t parent;
    uint32_t loop; /* a node of the outermost loop it is in; NODE_NONE for the root */
} Frame;

typedef struct Loops {
    const Compile *compile;
    Frame *frames;
    uint32_t frame_count;
    Map *by_name;
    uint32_t *output_frame; /* of each node */
    uint32_t *loops;
} Loops;

static bool
is_back_edge(const Node *source, const Node *node)
{
    return (op_is(source, "NextIteration") || op_is(source, "RefNextIteration")) &&
           (op_is(node, "Merge") || op_is(node, "RefMerge"));
}

static Status
refuse_mixture(const Loops *loops, const Node *node, uint32_t frame, uint32_t other)
{
    return call_fail(loops->compile->call, STATUS_INVALID_ARGUMENT,
        "node '%.*s' has inputs from different loops: '%.*s' and '%.*s'", SLICE_PRINT(node->name),
        SLICE_PRINT(loops->frames[frame].name), SLICE_PRINT(loops->frames[other].name));
}

static Status
merge_frame(const Loops *loops, const Node *node, uint32_t source, uint32_t *frame, bool *is_known)
{
    const Graph *const graph = loops->compile->graph;
    if (source == NODE_NONE || is_back_edge(&graph->nodes[source], node)) {
        return STATUS_OK;
    }
    const uint32_t other = loops->output_frame[source];
    if (*is_known && other != *frame) {
        return refuse_mixture(loops, node, *frame, other);
    }
    *frame = other;
    *is_known = true;
    return STATUS_OK;
}

static Status
input_frame(const Loops *loops, const Node *node, uint32_t *ret_frame)
{
    uint32_t frame = FRAME_ROOT;
    bool is_known = false;
    for (uint32_t index = 0; index < node->input_count; index++) {
        TRY(merge_frame(loops, node, node->inputs[index].node, &frame, &is_known));
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        TRY(merge_frame(loops, node, node->controls[index], &frame, &is_known));
    }
    *ret_frame = frame;
    return STATUS_OK;
}

static Status
open_frame(Loops *loops, const Node *enter, uint32_t parent, uint32_t *ret_frame)
{
    const Slice name = node_attr_string(enter, "frame_name");
    Frame *frame = map_get(loops->by_name, name);
    if (frame == NULL) {
        frame = &loops->frames[loops->frame_count++];
        const uint32_t outer = loops->frames[parent].loop;
        *frame = (Frame){.name = name, .parent = parent, .loop = outer == NODE_NONE ? enter->id : outer};
        if (!map_put(loops->by_name, name, frame)) {
            return compile_no_memory(loops->compile);
        }
    }
    if (frame->parent != parent) {
        return call_fail(loops->compile->call, STATUS_INVALID_ARGUMENT,
            "node '%.*s' enters loop '%.*s' from another loop than others do", SLICE_PRINT(enter->name),
            SLICE_PRINT(name));
    }
    *ret_frame = (uint32_t)(frame - loops->frames);
    return STATUS_OK;
}

static Status
visit(Loops *loops, const Node *node)
{
    uint32_t frame = FRAME_ROOT;
    TRY(input_frame(loops, node, &frame));
    const bool is_enter = op_is(node, "Enter") || op_is(node, "RefEnter");
    const bool is_exit = op_is(node, "Exit") || op_is(node, "RefExit");
    if (is_enter) {
        TRY(open_frame(loops, node, frame, &frame));
    }
    loops->loops[node->id] = loops->frames[frame].loop;
    loops->output_frame[node->id] = is_exit ? loops->frames[frame].parent : frame;
    return STATUS_OK;
}

/* What comes round must come from the same loop; only now are both ends known. */
static Status
check_back_edges(const Loops *loops, const Node *node)
{
    const Graph *const graph = loops->compile->graph;
    for (uint32_t index = 0; index < node->input_count; index++) {
        const uint32_t source = node->inputs[index].node;
        if (source != NODE_NONE && is_back_edge(&graph->nodes[source], node) &&
            loops->output_frame[source] != loops->output_frame[node->id]) {
            return refuse_mixture(loops, node, loops->output_frame[node->id], loops->output_frame[source]);
        }
    }
    return STATUS_OK;
}

Status
find_loops(const Compile *compile, uint32_t **ret_loops)
{
    const Graph *const graph = compile->graph;
    Loops loops = {
        .compile = compile,
        .frames = compile_alloc(compile, (size_t)graph->node_count + 1, sizeof *loops.frames),
        .frame_count = 1,
        .by_name = compile_map(compile),
        .output_frame = compile_alloc(compile, graph->node_count, sizeof *loops.output_frame),
        .loops = compile_alloc(compile, graph->node_count, sizeof *loops.loops),
    };
    if (loops.frames == NULL || loops.by_name == NULL || loops.output_frame == NULL || loops.loops == NULL) {
        return compile_no_memory(compile);
    }
    loops.frames[FRAME_ROOT] = (Frame){.name = SLICE(""), .loop = NODE_NONE};
    for (uint32_t index = 0; index < graph->node_count; index++) {
        TRY(visit(&loops, &graph->nodes[graph->order[index]]));
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        TRY(check_back_edges(&loops, &graph->nodes[id]));
    }
    *ret_loops = loops.loops;
    return STATUS_OK;
}
