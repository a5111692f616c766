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

static Status
begin_node(const Rewrite *rewrite, uint32_t id, RewriteNode *node)
{
    uint32_t output_count = node->node.output_count;
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
        uint32_t source = node->inputs[index].node;
        has_effects = source != NODE_NONE && rewrite->nodes[source]->has_effects;
    }
    for (uint32_t index = 0; !has_effects && index < node->control_count; index++) {
        has_effects = rewrite->nodes[node->controls[index]]->has_effects;
    }
    return has_effects;
}

/* Visits nodes in topological order: an effect is known before the nodes that read it are visited, but for
 * what comes back in a loop. */
static void
mark_nodes(Rewrite *rewrite)
{
    for (uint32_t position = 0; position < rewrite->node_count; position++) {
        const Node *node = rewrite_node(rewrite, rewrite->graph->order[position]);
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

/* A graph whose loops contradict each other has no frames here; find_loops() refuses it
 * (gateway/plan/loops.c). */
static Status
find_frames(Rewrite *rewrite)
{
    Call scratch = {.arena = rewrite->call->arena};
    GraphFrames frames;
    if (!rewrite->has_control_flow) {
        return STATUS_OK;
    }
    Status found = graph_find_frames(&scratch, scratch.arena, rewrite->graph, &frames);
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
    RewriteNode *nodes = rewrite_alloc(&rewrite, graph->node_count, sizeof *nodes);
    if (rewrite.nodes == NULL || nodes == NULL) {
        return rewrite_no_memory(&rewrite);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        nodes[id] = (RewriteNode){
            .node = *node,
            .shapes = shapes[id],
            .origin = id,
            .is_kept = is_kept[id] || slice_equals_string(node->def->op, "_Retval"),
        };
        TRY(begin_node(&rewrite, id, &nodes[id]));
        rewrite.nodes[id] = &nodes[id];
        rewrite.has_control_flow |= (node->op->flags & OP_CONTROL_FLOW) != 0;
    }
    mark_nodes(&rewrite);
    TRY(find_frames(&rewrite));
    *ret_rewrite = rewrite;
    return STATUS_OK;
}

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
    assert(endpoint.node < rewrite->node_count);
    for (;;) {
        Endpoint next = rewrite->nodes[endpoint.node]->readings[endpoint.port];
        if (next.node == endpoint.node && next.port == endpoint.port) {
            return endpoint;
        }
        endpoint = next;
    }
}

Endpoint
rewrite_input(const Rewrite *rewrite, uint32_t id, uint32_t index)
{
    const Node *node = rewrite_node(rewrite, id);
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

static bool
is_constant(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_is(rewrite, id, "Const") && !rewrite->nodes[id]->is_assigned;
}

const Tensor *
rewrite_constant(const Rewrite *rewrite, Endpoint endpoint)
{
    return endpoint.node != NODE_NONE && is_constant(rewrite, endpoint.node)
               ? node_known_value(rewrite_node(rewrite, endpoint.node))
               : NULL;
}

bool
rewrite_is_number(const Rewrite *rewrite, Endpoint endpoint, double number)
{
    const Tensor *constant = rewrite_constant(rewrite, endpoint);
    if (constant == NULL || rewrite_node(rewrite, endpoint.node)->control_count > 0 ||
        constant->dtype != DTYPE_FLOAT32 || tensor_element_count(constant) != 1) {
        return false;
    }
    double value = (double)*(const float *)constant->data;
    return fabs(value - number) <= fabs(number) * 0x1p-20;
}

bool
rewrite_is_fixed(const Rewrite *rewrite, Endpoint endpoint)
{
    return endpoint.node != NODE_NONE && rewrite->nodes[endpoint.node]->is_fixed;
}

static void
mark_fixed(const Rewrite *rewrite, RewriteNode *node)
{
    uint32_t id = node->node.id;
    bool is_fixed = node->node.control_count == 0 &&
                    (node->node.op->flags & (OP_STATEFUL | OP_CONTROL_FLOW)) == 0 &&
                    (is_constant(rewrite, id) || node->node.input_count > 0);
    for (uint32_t index = 0; is_fixed && index < node->node.input_count; index++) {
        is_fixed = rewrite_is_fixed(rewrite, rewrite_input(rewrite, id, index));
    }
    node->is_fixed = is_fixed;
}

/* Visits nodes in topological order. Added nodes need no visit: what they are was found when they were
 * added. */
void
rewrite_begin_pass(Rewrite *rewrite, const char *pass)
{
    assert(pass != NULL);
    rewrite->pass = pass;
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        mark_fixed(rewrite, rewrite->nodes[rewrite->graph->order[position]]);
    }
}

bool
rewrite_rests_on(const Rewrite *rewrite, uint32_t id, uint32_t index)
{
    bool rests = true;
    for (uint32_t other = 0; rests && other < rewrite_node(rewrite, id)->input_count; other++) {
        Endpoint input = rewrite_input(rewrite, id, other);
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
    const RewriteNode *node = rewrite->nodes[id];
    Slice device = node->node.def->device;
    bool may_move = device.size == 0 || slice_equal(device, rewrite_node(rewrite, instead.node)->def->device);
    return may_move && !node->is_kept && !node->has_control_readers && node->node.control_count == 0 &&
           (node->node.op->flags & (OP_STATEFUL | OP_CONTROL_FLOW)) == 0 && !is_variable(rewrite, instead);
}

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
    const Node *node = rewrite_node(walk->rewrite, id);
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint input = rewrite_input(walk->rewrite, id, index);
        if (input.node != NODE_NONE) {
            walk_push(walk, input.node);
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        walk_push(walk, node->controls[index]);
    }
}

/* Walks from what is kept back to all that it reads or waits for. */
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
    uint32_t **counts = rewrite_alloc(rewrite, rewrite->node_count, sizeof *counts);
    if (counts == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        uint32_t output_count = rewrite_node(rewrite, id)->output_count;
        counts[id] = rewrite_alloc(rewrite, output_count, sizeof **counts);
        if (counts[id] == NULL && output_count > 0) {
            return rewrite_no_memory(rewrite);
        }
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        for (uint32_t index = 0; needed[id] && index < rewrite_node(rewrite, id)->input_count; index++) {
            Endpoint input = rewrite_input(rewrite, id, index);
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

static void
note_change(Rewrite *rewrite, uint32_t id)
{
    enum { FIRST_CAPACITY = 32 };
    if (rewrite->note_count == rewrite->note_capacity) {
        uint32_t capacity = rewrite->note_capacity == 0 ? FIRST_CAPACITY : rewrite->note_capacity * 2;
        RewriteNote *notes = rewrite_alloc(rewrite, capacity, sizeof *notes);
        if (notes == NULL) {
            rewrite->has_no_memory = true;
            return;
        }
        if (rewrite->note_count > 0) {
            memcpy(notes, rewrite->notes, rewrite->note_count * sizeof *notes);
        }
        rewrite->notes = notes;
        rewrite->note_capacity = capacity;
    }
    rewrite->notes[rewrite->note_count++] =
        (RewriteNote){.pass = rewrite->pass, .node = rewrite_node(rewrite, id)->name};
}

void
rewrite_redirect(Rewrite *rewrite, Endpoint from, Endpoint to)
{
    Endpoint target = rewrite_resolve(rewrite, to);
    assert(target.node != from.node);
    rewrite->nodes[from.node]->readings[from.port] = target;
    note_change(rewrite, from.node);
}

Status
rewrite_reread(Rewrite *rewrite, uint32_t id, const Endpoint *inputs, uint32_t input_count)
{
    Node *node = &rewrite->nodes[id]->node;
    assert(rewrite->pass != NULL && id < rewrite->node_count);
    Endpoint *copy = rewrite_alloc(rewrite, input_count, sizeof *copy);
    if (copy == NULL && input_count > 0) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t index = 0; index < input_count; index++) {
        copy[index] = inputs[index];
    }
    node->inputs = copy;
    node->input_count = input_count;
    note_change(rewrite, id);
    return STATUS_OK;
}

static uint32_t
smaller_of(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

Status
rewrite_replace(Rewrite *rewrite, uint32_t id, const RewriteOp *becomes)
{
    Node *node = &rewrite->nodes[id]->node;
    Attr *attrs = rewrite_alloc(rewrite, becomes->attr_count, sizeof *attrs);
    NodeDef *def = rewrite_alloc(rewrite, 1, sizeof *def);
    if ((attrs == NULL && becomes->attr_count > 0) || def == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t index = 0; index < becomes->attr_count; index++) {
        attrs[index] = becomes->attrs[index];
    }
    *def = *node->def;
    def->op = slice_from_string(becomes->op);
    node->def = def;
    node->op = op_find(def->op);
    assert(node->op != NULL);
    node->output_count = smaller_of(node->output_count, (uint32_t)node->op->output_count);
    node->attrs = attrs;
    node->attr_count = becomes->attr_count;
    return rewrite_reread(rewrite, id, becomes->inputs, becomes->input_count);
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* Fills dtype and value; a reference to the value is kept as long as the call's arena. */
static Status
constant_attrs(const Rewrite *rewrite, const Tensor *value, Attr ret_attrs[2])
{
    Tensor kept = tensor_ref(value);
    if (kept.buffer != NULL && arena_defer(rewrite->call->arena, release_buffer, kept.buffer) == NULL) {
        tensor_unref(&kept);
        return rewrite_no_memory(rewrite);
    }
    ret_attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = value->dtype}};
    ret_attrs[1] = (Attr){.name = SLICE("value"), .value = {.kind = ATTR_TENSOR, .value.tensor = kept}};
    return STATUS_OK;
}

Status
rewrite_to_constant(Rewrite *rewrite, uint32_t id, const Tensor *value)
{
    Attr attrs[2];
    TRY(constant_attrs(rewrite, value, attrs));
    RewriteOp constant = {.op = "Const", .attrs = attrs, .attr_count = COUNT_OF(attrs)};
    return rewrite_replace(rewrite, id, &constant);
}

static Status
reserve_node(Rewrite *rewrite)
{
    if (rewrite->node_count < rewrite->node_capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = rewrite->node_capacity * 2;
    RewriteNode **nodes = rewrite_alloc(rewrite, capacity, sizeof(RewriteNode *));
    if (nodes == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        nodes[id] = rewrite->nodes[id];
    }
    rewrite->nodes = nodes;
    rewrite->node_capacity = capacity;
    return STATUS_OK;
}

/* Returns "_filter7_conv1": no author's name begins with '_', and no other node has this number. */
static Slice
added_name(const Rewrite *rewrite, uint32_t beside, const char *role)
{
    return slice_from_string(text_format(rewrite->call->arena, "_%s%u_%.*s", role, rewrite->node_count,
        SLICE_PRINT(rewrite_node(rewrite, beside)->name)));
}

/* Makes what all added nodes have, with room for one output. Returns NULL without memory. */
static RewriteNode *
added_node(const Rewrite *rewrite, uint32_t beside, const char *role, const RewriteOp *op)
{
    RewriteNode *added = rewrite_alloc(rewrite, 1, sizeof *added);
    NodeDef *def = rewrite_alloc(rewrite, 1, sizeof *def);
    Attr *attrs = rewrite_alloc(rewrite, op->attr_count, sizeof *attrs);
    Slice name = added_name(rewrite, beside, role);
    if (added == NULL || def == NULL || attrs == NULL || name.data == NULL) {
        return NULL;
    }
    for (uint32_t index = 0; index < op->attr_count; index++) {
        attrs[index] = op->attrs[index];
    }
    const NodeDef *neighbour = rewrite_node(rewrite, beside)->def;
    *def = (NodeDef){
        .name = name,
        .op = slice_from_string(op->op),
        .device = neighbour->device,
        .pointer = neighbour->pointer,
    };
    added->node = (Node){
        .id = rewrite->node_count,
        .name = name,
        .op = op_find(def->op),
        .def = def,
        .attrs = attrs,
        .attr_count = op->attr_count,
        .output_count = 1,
    };
    added->origin = rewrite->nodes[beside]->origin;
    assert(added->node.op != NULL);
    return added;
}

static Status
finish_added(
    Rewrite *rewrite, RewriteNode *added, Dtype output_dtype, const Shape *shape, Endpoint *ret_endpoint)
{
    Shape *shapes = rewrite_alloc(rewrite, 1, sizeof *shapes);
    Dtype *dtype = rewrite_alloc(rewrite, 1, sizeof *dtype);
    if (shapes == NULL || dtype == NULL) {
        return rewrite_no_memory(rewrite);
    }
    *shapes = *shape;
    *dtype = output_dtype;
    added->shapes = shapes;
    added->node.output_dtypes = dtype;
    TRY(reserve_node(rewrite));
    TRY(begin_node(rewrite, added->node.id, added));
    rewrite->nodes[rewrite->node_count++] = added;
    mark_fixed(rewrite, added);
    *ret_endpoint = (Endpoint){.node = added->node.id};
    return STATUS_OK;
}

Status
rewrite_add_constant(
    Rewrite *rewrite, uint32_t beside, const char *role, const Tensor *value, Endpoint *ret_endpoint)
{
    Attr attrs[2];
    TRY(constant_attrs(rewrite, value, attrs));
    RewriteOp op = {.op = "Const", .attrs = attrs, .attr_count = COUNT_OF(attrs)};
    RewriteNode *added = added_node(rewrite, beside, role, &op);
    if (added == NULL) {
        return rewrite_no_memory(rewrite);
    }
    return finish_added(rewrite, added, value->dtype, &value->shape, ret_endpoint);
}

/* Asks the op's own rule, with the values of constant inputs. */
static Status
added_shape(const Rewrite *rewrite, const Node *node, Shape *ret_shape)
{
    Shape *shapes = rewrite_alloc(rewrite, node->input_count, sizeof *shapes);
    const Tensor **values = rewrite_alloc(rewrite, node->input_count, sizeof(const Tensor *));
    if (shapes == NULL || values == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        shapes[index] = *rewrite_shape(rewrite, node->inputs[index]);
        values[index] = rewrite_constant(rewrite, node->inputs[index]);
    }
    *ret_shape = shape_unknown();
    InferContext context = {.node = node, .inputs = shapes, .values = values, .outputs = ret_shape};
    return node->op->infer_shapes(rewrite->call, &context);
}

Status
rewrite_add(Rewrite *rewrite, uint32_t beside, const char *role, const RewriteOp *op, Endpoint *ret_endpoint)
{
    RewriteNode *added = added_node(rewrite, beside, role, op);
    Endpoint *inputs = rewrite_alloc(rewrite, op->input_count, sizeof *inputs);
    if (added == NULL || inputs == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (uint32_t index = 0; index < op->input_count; index++) {
        inputs[index] = rewrite_resolve(rewrite, op->inputs[index]);
    }
    added->node.inputs = inputs;
    added->node.input_count = op->input_count;
    Shape shape;
    TRY(added_shape(rewrite, &added->node, &shape));
    return finish_added(rewrite, added, rewrite_dtype(rewrite, inputs[0]), &shape, ret_endpoint);
}

static Slice
endpoint_text(const Rewrite *rewrite, Arena *arena, Endpoint endpoint)
{
    if (endpoint.node == NODE_NONE) {
        return SLICE("");
    }
    Slice name = rewrite_node(rewrite, endpoint.node)->name;
    return endpoint.port == 0
               ? name
               : slice_from_string(text_format(arena, "%.*s:%u", SLICE_PRINT(name), endpoint.port));
}

static Status
write_node_def(const Rewrite *rewrite, uint32_t id, Arena *arena, NodeDef *ret_def)
{
    const Node *node = rewrite_node(rewrite, id);
    size_t count = (size_t)node->input_count + node->control_count;
    Slice *inputs = arena_alloc(arena, count * sizeof *inputs);
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
    assert(def->node_count == 0);
    TRY(mark_needed(rewrite, &needed));
    NodeDef *nodes = arena_alloc(def->arena, rewrite->node_count * sizeof *nodes);
    uint32_t *origins = rewrite_alloc(rewrite, rewrite->node_count, sizeof *origins);
    const Shape **shapes = rewrite_alloc(rewrite, rewrite->node_count, sizeof(const Shape *));
    if (nodes == NULL || origins == NULL || shapes == NULL) {
        return rewrite_no_memory(rewrite);
    }
    size_t count = 0;
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        if (needed[id]) {
            TRY(write_node_def(rewrite, id, def->arena, &nodes[count]));
            origins[count] = rewrite->nodes[id]->origin;
            shapes[count++] = rewrite->nodes[id]->shapes;
        }
    }
    def->nodes = nodes;
    def->node_count = count;
    def->functions = rewrite->graph->def->functions;
    def->function_count = rewrite->graph->def->function_count;
    GraphLimits limits = {.node_count_max = count, .allows_internal = true};
    TRY(graph_link(rewrite->call, def, op_find, limits, &ret_rewritten->graph));
    ret_rewritten->def = def;
    ret_rewritten->origins = origins;
    ret_rewritten->shapes = shapes;
    return STATUS_OK;
}
