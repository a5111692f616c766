#include "gateway/optimise/rewrite.h"

#include <assert.h>
#include <string.h>

#include "shared/base/text.h"
#include "shared/ops/registry.h"

static Status
no_memory(const Rewrite *rewrite)
{
    return call_fail_memory(rewrite->call, "an optimised graph");
}

static void *
alloc(const Rewrite *rewrite, size_t count, size_t size)
{
    size_t total = 0;
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(rewrite->call->arena, total);
}

/* --- Beginning ------------------------------------------------------------------------------------------ */

static Status
node_begin(Rewrite *rewrite, RewriteNode *ret_node, uint32_t id)
{
    ret_node->readings = alloc(rewrite, ret_node->node.output_count, sizeof *ret_node->readings);
    if (ret_node->readings == NULL && ret_node->node.output_count > 0) {
        return no_memory(rewrite);
    }
    for (uint32_t port = 0; port < ret_node->node.output_count; port++) {
        ret_node->readings[port] = (Endpoint){.node = id, .port = port};
    }
    return STATUS_OK;
}

static void
mark_control_readers(Rewrite *rewrite)
{
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        const Node *const node = rewrite_node(rewrite, id);
        for (uint32_t index = 0; index < node->control_count; index++) {
            rewrite->nodes[node->controls[index]]->has_control_readers = true;
        }
    }
}

Status
rewrite_begin(
    Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept, Rewrite *ret_rewrite)
{
    enum { ROOM = 64 };
    Rewrite rewrite = {.call = call, .graph = graph, .node_count = graph->node_count};
    rewrite.node_capacity = graph->node_count + ROOM;
    rewrite.nodes = alloc(&rewrite, rewrite.node_capacity, sizeof *rewrite.nodes);
    RewriteNode *const nodes = alloc(&rewrite, graph->node_count, sizeof *nodes);
    if (rewrite.nodes == NULL || nodes == NULL) {
        return no_memory(&rewrite);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *const node = &graph->nodes[id];
        nodes[id] = (RewriteNode){
            .node = *node,
            .shapes = shapes[id],
            .origin = id,
            .is_kept = is_kept[id] || slice_equals_string(node->def->op, "_Retval"),
        };
        TRY(node_begin(&rewrite, &nodes[id], id));
        rewrite.nodes[id] = &nodes[id];
        rewrite.has_control_flow |= (node->op->flags & OP_CONTROL_FLOW) != 0;
    }
    mark_control_readers(&rewrite);
    *ret_rewrite = rewrite;
    return STATUS_OK;
}

/* --- Asking --------------------------------------------------------------------------------------------- */

bool
rewrite_is(const Rewrite *rewrite, uint32_t id, const char *op)
{
    return slice_equals_string(rewrite_node(rewrite, id)->op->name, op);
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
    if (endpoint.node == NODE_NONE || !rewrite_is(rewrite, endpoint.node, "Const")) {
        return NULL;
    }
    return node_attr_tensor(rewrite_node(rewrite, endpoint.node), "value");
}

bool
rewrite_may_give_way(const Rewrite *rewrite, uint32_t id, Endpoint instead)
{
    const RewriteNode *const node = rewrite->nodes[id];
    const Slice device = node->node.def->device;
    const bool may_move =
        device.size == 0 || slice_equal(device, rewrite_node(rewrite, instead.node)->def->device);
    return may_move && !node->is_kept && !node->has_control_readers && node->node.control_count == 0 &&
           (node->node.op->flags & (OP_STATEFUL | OP_CONTROL_FLOW)) == 0;
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
        .needed = alloc(rewrite, rewrite->node_count, sizeof *walk.needed),
        .stack = alloc(rewrite, rewrite->node_count, sizeof *walk.stack),
    };
    if (walk.needed == NULL || walk.stack == NULL) {
        return no_memory(rewrite);
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
    uint32_t **const counts = alloc(rewrite, rewrite->node_count, sizeof *counts);
    if (counts == NULL) {
        return no_memory(rewrite);
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        const uint32_t output_count = rewrite_node(rewrite, id)->output_count;
        counts[id] = alloc(rewrite, output_count, sizeof **counts);
        if (counts[id] == NULL && output_count > 0) {
            return no_memory(rewrite);
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

/* --- Changing ------------------------------------------------------------------------------------------- */

/* Without memory for a note the change still counts: notes are for people. */
static void
note_change(Rewrite *rewrite, uint32_t id)
{
    enum { FIRST_CAPACITY = 32 };
    if (rewrite->note_count == rewrite->note_capacity) {
        const uint32_t capacity = rewrite->note_capacity == 0 ? FIRST_CAPACITY : rewrite->note_capacity * 2;
        RewriteNote *const notes = alloc(rewrite, capacity, sizeof *notes);
        if (notes == NULL) {
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
    const Endpoint target = rewrite_resolve(rewrite, to);
    assert(target.node != from.node);
    rewrite->nodes[from.node]->readings[from.port] = target;
    note_change(rewrite, from.node);
}

Status
rewrite_reread(Rewrite *rewrite, uint32_t id, const Endpoint *inputs, uint32_t input_count)
{
    Node *const node = &rewrite->nodes[id]->node;
    Endpoint *const copy = alloc(rewrite, input_count, sizeof *copy);
    if (copy == NULL && input_count > 0) {
        return no_memory(rewrite);
    }
    for (uint32_t index = 0; index < input_count; index++) {
        copy[index] = inputs[index];
    }
    node->inputs = copy;
    node->input_count = input_count;
    note_change(rewrite, id);
    return STATUS_OK;
}

Status
rewrite_replace(Rewrite *rewrite, uint32_t id, const RewriteOp *becomes)
{
    Node *const node = &rewrite->nodes[id]->node;
    Attr *const attrs = alloc(rewrite, becomes->attr_count, sizeof *attrs);
    NodeDef *const def = alloc(rewrite, 1, sizeof *def);
    if ((attrs == NULL && becomes->attr_count > 0) || def == NULL) {
        return no_memory(rewrite);
    }
    for (uint32_t index = 0; index < becomes->attr_count; index++) {
        attrs[index] = becomes->attrs[index];
    }
    *def = *node->def;
    def->op = slice_from_string(becomes->op);
    node->def = def;
    node->op = op_find(def->op);
    assert(node->op != NULL);
    node->attrs = attrs;
    node->attr_count = becomes->attr_count;
    return rewrite_reread(rewrite, id, becomes->inputs, becomes->input_count);
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* {dtype, value}; the value's reference goes with the call's arena. */
static Status
constant_attrs(const Rewrite *rewrite, const Tensor *value, Attr ret_attrs[2])
{
    Tensor kept = tensor_ref(value);
    if (kept.buffer != NULL && arena_defer(rewrite->call->arena, release_buffer, kept.buffer) == NULL) {
        tensor_unref(&kept);
        return no_memory(rewrite);
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
    const RewriteOp constant = {.op = "Const", .attrs = attrs, .attr_count = COUNT_OF(attrs)};
    return rewrite_replace(rewrite, id, &constant);
}

static Status
reserve_node(Rewrite *rewrite)
{
    if (rewrite->node_count < rewrite->node_capacity) {
        return STATUS_OK;
    }
    const uint32_t capacity = rewrite->node_capacity * 2;
    RewriteNode **const nodes = alloc(rewrite, capacity, sizeof(RewriteNode *));
    if (nodes == NULL) {
        return no_memory(rewrite);
    }
    for (uint32_t id = 0; id < rewrite->node_count; id++) {
        nodes[id] = rewrite->nodes[id];
    }
    rewrite->nodes = nodes;
    rewrite->node_capacity = capacity;
    return STATUS_OK;
}

/* "_filter7_conv1": an author's name does not begin with '_', and no other node has this number. */
static Slice
added_name(const Rewrite *rewrite, uint32_t beside, const char *role)
{
    return slice_from_string(text_format(rewrite->call->arena, "_%s%u_%.*s", role, rewrite->node_count,
        SLICE_PRINT(rewrite_node(rewrite, beside)->name)));
}

Status
rewrite_add_constant(
    Rewrite *rewrite, uint32_t beside, const char *role, const Tensor *value, Endpoint *ret_endpoint)
{
    Attr *const attrs = alloc(rewrite, 2, sizeof *attrs);
    RewriteNode *const added = alloc(rewrite, 1, sizeof *added);
    NodeDef *const def = alloc(rewrite, 1, sizeof *def);
    Shape *const shape = alloc(rewrite, 1, sizeof *shape);
    Dtype *const dtype = alloc(rewrite, 1, sizeof *dtype);
    if (attrs == NULL || added == NULL || def == NULL || shape == NULL || dtype == NULL) {
        return no_memory(rewrite);
    }
    TRY(reserve_node(rewrite));
    TRY(constant_attrs(rewrite, value, attrs));
    const uint32_t id = rewrite->node_count;
    const Node *const neighbour = rewrite_node(rewrite, beside);
    *def = (NodeDef){
        .name = added_name(rewrite, beside, role),
        .op = SLICE("Const"),
        .device = neighbour->def->device,
        .pointer = neighbour->def->pointer,
    };
    *shape = value->shape;
    *dtype = value->dtype;
    added->node = (Node){
        .id = id,
        .name = def->name,
        .op = op_find(def->op),
        .def = def,
        .attrs = attrs,
        .attr_count = 2,
        .output_dtypes = dtype,
        .output_count = 1,
    };
    added->shapes = shape;
    added->origin = rewrite->nodes[beside]->origin;
    if (def->name.data == NULL) {
        return no_memory(rewrite);
    }
    TRY(node_begin(rewrite, added, id));
    rewrite->nodes[rewrite->node_count++] = added;
    *ret_endpoint = (Endpoint){.node = id};
    return STATUS_OK;
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
        return no_memory(rewrite);
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
            return no_memory(rewrite);
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
    uint32_t *const origins = alloc(rewrite, rewrite->node_count, sizeof *origins);
    const Shape **const shapes = alloc(rewrite, rewrite->node_count, sizeof(const Shape *));
    if (nodes == NULL || origins == NULL || shapes == NULL) {
        return no_memory(rewrite);
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
    const GraphLimits limits = {.node_count_max = count, .allows_internal = true};
    TRY(graph_link(rewrite->call, def, op_find, limits, &ret_rewritten->graph));
    ret_rewritten->def = def;
    ret_rewritten->origins = origins;
    ret_rewritten->shapes = shapes;
    return STATUS_OK;
}
