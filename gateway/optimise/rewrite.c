#include "gateway/optimise/rewrite.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "shared/base/text.h"
#include "shared/graph/frames.h"
#include "shared/ops/registry.h"

Status
rewrite_no_memory(const Rewrite *rewrite)
{
    return call_fail_memory(rewrite->call, "an optimised graph");
}

void *
rewrite_alloc(const Rewrite *rewrite, size_t count, size_t size)
{
    size_t total = 0;
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(rewrite->call->arena, total);
}

/* --- Beginning ------------------------------------------------------------------------------------------ */

Status
rewrite_begin_node(const Rewrite *rewrite, uint32_t id, RewriteNode *node)
{
    const uint32_t output_count = node->node.output_count;
    node->readings = rewrite_alloc(rewrite, output_count, sizeof *node->readings);
    if (node->readings == NULL && output_count > 0) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t port = 0; port < output_count; port++) {
        node->readings[port] = (Endpoint){.node = id, .port = port};
    }
    return STATUS_OK;
}

static bool
is_effect_or_needs_one(const Rewrite *rewrite, const Node *node)
{
    bool has_effects = (node->op->flags & OP_STATEFUL) != 0;
    for (uint32_t index = 0; !has_effects && index < node->input_count; index++) {
        const uint32_t source = node->inputs[index].node;
        has_effects = source != NODE_NONE && rewrite->nodes[source]->has_effects;
    }
    for (uint32_t index = 0; !has_effects && index < node->control_count; index++) {
        has_effects = rewrite->nodes[node->controls[index]]->has_effects;
    }
    return has_effects;
}

/* What the edges tell of each node. In topological order: an effect is known before its readers come, but for
 * what goes round a loop. */
static void
mark_nodes(Rewrite *rewrite)
{
    for (uint32_t place = 0; place < rewrite->node_count; place++) {
        const Node *const node = rewrite_node(rewrite, rewrite->graph->order[place]);
        rewrite->nodes[node->id]->has_effects = is_effect_or_needs_one(rewrite, node);
        for (uint32_t index = 0; index < node->control_count; index++) {
            rewrite->nodes[node->controls[index]]->has_control_readers = true;
        }
        for (uint32_t index = 0; index < node->input_count; index++) {
            if (node_input_is_reference(node, index)) {
                rewrite->nodes[node->inputs[index].node]->is_assigned = true;
            }
        }
    }
}

/* Whoever contradicts himself about loops is told so when the graph is placed. */
static Status
find_frames(Rewrite *rewrite)
{
    Call scratch = {.arena = rewrite->call->arena};
    GraphFrames frames;
    if (!rewrite->has_control_flow) {
        return STATUS_OK;
    }
    const Status found = graph_find_frames(&scratch, scratch.arena, rewrite->graph, &frames);
    if (found == STATUS_OK) {
        rewrite->frames = frames.inputs;
    }
    return found == STATUS_RESOURCE_EXHAUSTED ? rewrite_no_memory(rewrite) : STATUS_OK;
}

Status
rewrite_begin(
    Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept, Rewrite *ret_rewrite)
{
    enum { ROOM = 64 };
    Rewrite rewrite = {.call = call, .graph = graph, .node_count = graph->node_count};
    rewrite.node_capacity = graph->node_count + ROOM;
    rewrite.nodes = rewrite_alloc(&rewrite, rewrite.node_capacity, sizeof *rewrite.nodes);
    RewriteNode *const nodes = rewrite_alloc(&rewrite, graph->node_count, sizeof *nodes);
    if (rewrite.nodes == NULL || nodes == NULL) {
        return rewrite_no_memory(&rewrite);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *const node = &graph->nodes[id];
        nodes[id] = (RewriteNode){
            .node = *node,
            .shapes = shapes[id],
            .origin = id,
            .is_kept = is_kept[id] || slice_equals_string(node->def->op, "_Retval"),
        };
        TRY(rewrite_begin_node(&rewrite, id, &nodes[id]));
        rewrite.nodes[id] = &nodes[id];
        rewrite.has_control_flow |= (node->op->flags & OP_CONTROL_FLOW) != 0;
    }
    mark_nodes(&rewrite);
    TRY(find_frames(&rewrite));
    *ret_rewrite = rewrite;
    return STATUS_OK;
}

/* --- Asking --------------------------------------------------------------------------------------------- */

bool
rewrite_is(const Rewrite *rewrite, uint32_t id, const char *op)
{
    return slice_equals_string(rewrite_node(rewrite, id)->op->name, op);
}

bool
rewrite_is_any_of(const Rewrite *rewrite, uint32_t id, const char *const *ops, size_t op_count)
{
    for (size_t index = 0; index < op_count; index++) {
        if (rewrite_is(rewrite, id, ops[index])) {
            return true;
        }
    }
    return false;
}

Endpoint
rewrite_resolve(const Rewrite *rewrite, Endpoint endpoint)
{
    for (;;) {
        const Endpoint next = rewrite->nodes[endpoint.node]->readings[endpoint.port];
        if (next.node == endpoint.node && next.port == endpoint.port) {
            return endpoint;
        }
        endpoint = next;
    }
}

Endpoint
rewrite_input(const Rewrite *rewrite, uint32_t id, uint32_t index)
{
    const Node *const node = rewrite_node(rewrite, id);
    if (index >= node->input_count || node->inputs[index].node == NODE_NONE) {
        return (Endpoint){.node = NODE_NONE};
    }
    return rewrite_resolve(rewrite, node->inputs[index]);
}

const Shape *
rewrite_shape(const Rewrite *rewrite, Endpoint endpoint)
{
    return &rewrite->nodes[endpoint.node]->shapes[endpoint.port];
}

Dtype
rewrite_dtype(const Rewrite *rewrite, Endpoint endpoint)
{
    return rewrite_node(rewrite, endpoint.node)->output_dtypes[endpoint.port];
}

const Tensor *
rewrite_constant(const Rewrite *rewrite, Endpoint endpoint)
{
    if (endpoint.node == NODE_NONE || !rewrite_is(rewrite, endpoint.node, "Const") ||
        rewrite->nodes[endpoint.node]->is_assigned) {
        return NULL;
    }
    return node_attr_tensor(rewrite_node(rewrite, endpoint.node), "value");
}

bool
rewrite_is_number(const Rewrite *rewrite, Endpoint endpoint, double number)
{
    const Tensor *const constant = rewrite_constant(rewrite, endpoint);
    if (constant == NULL || rewrite_node(rewrite, endpoint.node)->control_count > 0 ||
        constant->dtype != DTYPE_FLOAT32 || tensor_element_count(constant) != 1) {
        return false;
    }
    const double value = (double)*(const float *)constant->data;
    return fabs(value - number) <= fabs(number) * 0x1p-20;
}

bool
rewrite_is_fixed(const Rewrite *rewrite, Endpoint endpoint)
{
    return endpoint.node != NODE_NONE && rewrite->nodes[endpoint.node]->is_fixed;
}

void
rewrite_tell_fixed(const Rewrite *rewrite, RewriteNode *node)
{
    const uint32_t id = node->node.id;
    const bool is_constant = rewrite_constant(rewrite, (Endpoint){.node = id}) != NULL;
    bool is_fixed = node->node.control_count == 0 &&
                    (node->node.op->flags & (OP_STATEFUL | OP_CONTROL_FLOW)) == 0 &&
                    (is_constant || node->node.input_count > 0);
    for (uint32_t index = 0; is_fixed && index < node->node.input_count; index++) {
        is_fixed = rewrite_is_fixed(rewrite, rewrite_input(rewrite, id, index));
    }
    node->is_fixed = is_fixed;
}

/* In topological order; those that were added are read by others, and knew it when they were made. */
void
rewrite_begin_pass(Rewrite *rewrite, const char *pass)
{
    rewrite->pass = pass;
    for (uint32_t place = 0; place < rewrite->graph->node_count; place++) {
        rewrite_tell_fixed(rewrite, rewrite->nodes[rewrite->graph->order[place]]);
    }
}

bool
rewrite_rests_on(const Rewrite *rewrite, uint32_t id, uint32_t index)
{
    bool rests = true;
    for (uint32_t other = 0; rests && other < rewrite_node(rewrite, id)->input_count; other++) {
        const Endpoint input = rewrite_input(rewrite, id, other);
        rests = other == index || input.node == NODE_NONE || rewrite_is_fixed(rewrite, input) ||
                (!rewrite->has_control_flow && !rewrite->nodes[input.node]->has_effects);
    }
    return rests;
}

bool
rewrite_is_in_loop(const Rewrite *rewrite, uint32_t id)
{
    return rewrite->frames != NULL && rewrite->frames[rewrite->nodes[id]->origin] != FRAME_ROOT;
}

static bool
is_variable(const Rewrite *rewrite, Endpoint endpoint)
{
    return rewrite->nodes[endpoint.node]->is_assigned ||
           node_output_is_reference(rewrite_node(rewrite, endpoint.node), endpoint.port);
}

bool
rewrite_may_give_way(const Rewrite *rewrite, uint32_t id, Endpoint instead)
{
    const RewriteNode *const node = rewrite->nodes[id];
    const Slice device = node->node.def->device;
    const bool may_move =
        device.size == 0 || slice_equal(device, rewrite_node(rewrite, instead.node)->def->device);
    return may_move && !node->is_kept && !node->has_control_readers && node->node.control_count == 0 &&
           (node->node.op->flags & (OP_STATEFUL | OP_CONTROL_FLOW)) == 0 && !is_variable(rewrite, instead);
}

/* --- What is needed ------------------------------------------------------------------------------------- */

typedef struct Walk {
    const Rewrite *rewrite;
    bool *needed;
    uint32_t *stack;
    size_t depth;
} Walk;

static void
walk_push(Walk *walk, uint32_t id)
{
    if (!walk->needed[id]) {
        walk->needed[id] = true;
        walk->stack[walk->depth++] = id;
    }
}

static void
walk_inputs(Walk *walk, uint32_t id)
{
    const Node *const node = rewrite_node(walk->rewrite, id);
    for (uint32_t index = 0; index < node->input_count; index++) {
        const Endpoint input = rewrite_input(walk->rewrite, id, index);
        if (input.node != NODE_NONE) {
            walk_push(walk, input.node);
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        walk_push(walk, node->controls[index]);
    }
}

/* From what is kept back to all it reads and waits for. */
static Status
mark_needed(const Rewrite *rewrite, bool **ret_needed)
{
    Walk walk = {
        .rewrite = rewrite,
        .needed = rewrite_alloc(rewrite, rewrite->node_count, sizeof *walk.needed),
        .stack = rewrite_alloc(rewrite, rewrite->node_count, sizeof *walk.stack),
    };
    if (walk.needed == NULL || walk.stack == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        if (rewrite->nodes[id]->is_kept) {
            walk_push(&walk, id);
        }
    }
    while (walk.depth > 0) {
        walk_inputs(&walk, walk.stack[--walk.depth]);
    }
    *ret_needed = walk.needed;
    return STATUS_OK;
}

Status
rewrite_count_readers(const Rewrite *rewrite, uint32_t ***ret_counts)
{
    bool *needed = NULL;
    TRY(mark_needed(rewrite, &needed));
    uint32_t **const counts = rewrite_alloc(rewrite, rewrite->node_count, sizeof *counts);
    if (counts == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        const uint32_t output_count = rewrite_node(rewrite, id)->output_count;
        counts[id] = rewrite_alloc(rewrite, output_count, sizeof **counts);
        if (counts[id] == NULL && output_count > 0) {
            return rewrite_no_memory(rewrite);
        }
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        for (uint32_t index = 0; needed[id] && index < rewrite_node(rewrite, id)->input_count; index++) {
            const Endpoint input = rewrite_input(rewrite, id, index);
            if (input.node != NODE_NONE) {
                counts[input.node][input.port]++;
            }
        }
    }
    *ret_counts = counts;
    return STATUS_OK;
}

bool
rewrite_is_private(const Rewrite *rewrite, uint32_t *const *counts, uint32_t id, uint32_t reader)
{
    uint32_t count = 0;
    for (uint32_t port = 0; port < rewrite_node(rewrite, id)->output_count; port++) {
        count += counts[id][port];
    }
    return count == 1 && counts[id][0] == 1 && counts[reader][0] > 0 &&
           rewrite_may_give_way(rewrite, id, (Endpoint){.node = reader});
}

/* --- Writing -------------------------------------------------------------------------------------------- */

static Slice
endpoint_text(const Rewrite *rewrite, Arena *arena, Endpoint endpoint)
{
    if (endpoint.node == NODE_NONE) {
        return SLICE("");
    }
    const Slice name = rewrite_node(rewrite, endpoint.node)->name;
    return endpoint.port == 0
               ? name
               : slice_from_string(text_format(arena, "%.*s:%u", SLICE_PRINT(name), endpoint.port));
}

static Status
write_node(const Rewrite *rewrite, uint32_t id, Arena *arena, NodeDef *ret_def)
{
    const Node *const node = rewrite_node(rewrite, id);
    const size_t count = (size_t)node->input_count + node->control_count;
    Slice *const inputs = arena_alloc(arena, count * sizeof *inputs);
    if (inputs == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        inputs[index] = endpoint_text(rewrite, arena, rewrite_input(rewrite, id, index));
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        inputs[node->input_count + index] = slice_from_string(
            text_format(arena, "^%.*s", SLICE_PRINT(rewrite_node(rewrite, node->controls[index])->name)));
    }
    for (size_t index = 0; index < count; index++) {
        if (inputs[index].data == NULL) {
            return rewrite_no_memory(rewrite);
        }
    }
    *ret_def = (NodeDef){
        .name = node->name,
        .op = node->op->name,
        .device = node->def->device,
        .inputs = inputs,
        .input_count = count,
        .attrs = node->attrs,
        .attr_count = node->attr_count,
        .pointer = node->def->pointer,
    };
    return STATUS_OK;
}

Status
rewrite_finish(Rewrite *rewrite, GraphDef *def, Rewritten *ret_rewritten)
{
    bool *needed = NULL;
    TRY(mark_needed(rewrite, &needed));
    NodeDef *const nodes = arena_alloc(def->arena, rewrite->node_count * sizeof *nodes);
    uint32_t *const origins = rewrite_alloc(rewrite, rewrite->node_count, sizeof *origins);
    const Shape **const shapes = rewrite_alloc(rewrite, rewrite->node_count, sizeof(const Shape *));
    if (nodes == NULL || origins == NULL || shapes == NULL) {
        return rewrite_no_memory(rewrite);
    }
    size_t count = 0;
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        if (needed[id]) {
            TRY(write_node(rewrite, id, def->arena, &nodes[count]));
            origins[count] = rewrite->nodes[id]->origin;
            shapes[count++] = rewrite->nodes[id]->shapes;
        }
    }
    def->nodes = nodes;
    def->node_count = count;
    def->functions = rewrite->graph->def->functions;
    def->function_count = rewrite->graph->def->function_count;
    const GraphLimits limits = {.node_count_max = count, .allows_internal = true};
    TRY(graph_link(rewrite->call, def, op_find, limits, &ret_rewritten->graph));
    ret_rewritten->def = def;
    ret_rewritten->origins = origins;
    ret_rewritten->shapes = shapes;
    return STATUS_OK;
}
