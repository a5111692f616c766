#include <assert.h>
#include <string.h>

#include "gateway/optimise/rewrite.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"

/* --- Nodes that are there ------------------------------------------------------------------------------- */

static void
note_change(Rewrite *rewrite, uint32_t id)
{
    enum { FIRST_CAPACITY = 32 };
    if (rewrite->note_count == rewrite->note_capacity) {
        const uint32_t capacity = rewrite->note_capacity == 0 ? FIRST_CAPACITY : rewrite->note_capacity * 2;
        RewriteNote *const notes = rewrite_alloc(rewrite, capacity, sizeof *notes);
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
    const Endpoint target = rewrite_resolve(rewrite, to);
    assert(target.node != from.node);
    rewrite->nodes[from.node]->readings[from.port] = target;
    note_change(rewrite, from.node);
}

Status
rewrite_reread(Rewrite *rewrite, uint32_t id, const Endpoint *inputs, uint32_t input_count)
{
    Node *const node = &rewrite->nodes[id]->node;
    Endpoint *const copy = rewrite_alloc(rewrite, input_count, sizeof *copy);
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
smaller(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

Status
rewrite_replace(Rewrite *rewrite, uint32_t id, const RewriteOp *becomes)
{
    Node *const node = &rewrite->nodes[id]->node;
    Attr *const attrs = rewrite_alloc(rewrite, becomes->attr_count, sizeof *attrs);
    NodeDef *const def = rewrite_alloc(rewrite, 1, sizeof *def);
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
    node->output_count = smaller(node->output_count, (uint32_t)node->op->output_count);
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
    const RewriteOp constant = {.op = "Const", .attrs = attrs, .attr_count = COUNT_OF(attrs)};
    return rewrite_replace(rewrite, id, &constant);
}

/* --- Nodes that are added ------------------------------------------------------------------------------- */

static Status
reserve_node(Rewrite *rewrite)
{
    if (rewrite->node_count < rewrite->node_capacity) {
        return STATUS_OK;
    }
    const uint32_t capacity = rewrite->node_capacity * 2;
    RewriteNode **const nodes = rewrite_alloc(rewrite, capacity, sizeof(RewriteNode *));
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

/* "_filter7_conv1": an author's name does not begin with '_', and no other node has this number. */
static Slice
added_name(const Rewrite *rewrite, uint32_t beside, const char *role)
{
    return slice_from_string(text_format(rewrite->call->arena, "_%s%u_%.*s", role, rewrite->node_count,
        SLICE_PRINT(rewrite_node(rewrite, beside)->name)));
}

/* What all added nodes have, and room for one output. NULL without memory. */
static RewriteNode *
added_node(const Rewrite *rewrite, uint32_t beside, const char *role, const RewriteOp *op)
{
    RewriteNode *const added = rewrite_alloc(rewrite, 1, sizeof *added);
    NodeDef *const def = rewrite_alloc(rewrite, 1, sizeof *def);
    Attr *const attrs = rewrite_alloc(rewrite, op->attr_count, sizeof *attrs);
    const Slice name = added_name(rewrite, beside, role);
    if (added == NULL || def == NULL || attrs == NULL || name.data == NULL) {
        return NULL;
    }
    for (uint32_t index = 0; index < op->attr_count; index++) {
        attrs[index] = op->attrs[index];
    }
    const NodeDef *const neighbour = rewrite_node(rewrite, beside)->def;
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
    Shape *const shapes = rewrite_alloc(rewrite, 1, sizeof *shapes);
    Dtype *const dtype = rewrite_alloc(rewrite, 1, sizeof *dtype);
    if (shapes == NULL || dtype == NULL) {
        return rewrite_no_memory(rewrite);
    }
    *shapes = *shape;
    *dtype = output_dtype;
    added->shapes = shapes;
    added->node.output_dtypes = dtype;
    TRY(reserve_node(rewrite));
    TRY(rewrite_begin_node(rewrite, added->node.id, added));
    rewrite->nodes[rewrite->node_count++] = added;
    rewrite_tell_fixed(rewrite, added);
    *ret_endpoint = (Endpoint){.node = added->node.id};
    return STATUS_OK;
}

Status
rewrite_add_constant(
    Rewrite *rewrite, uint32_t beside, const char *role, const Tensor *value, Endpoint *ret_endpoint)
{
    Attr attrs[2];
    TRY(constant_attrs(rewrite, value, attrs));
    const RewriteOp op = {.op = "Const", .attrs = attrs, .attr_count = COUNT_OF(attrs)};
    RewriteNode *const added = added_node(rewrite, beside, role, &op);
    if (added == NULL) {
        return rewrite_no_memory(rewrite);
    }
    return finish_added(rewrite, added, value->dtype, &value->shape, ret_endpoint);
}

/* By the op's own rule, as far as inputs are constants. */
static Status
added_shape(const Rewrite *rewrite, const Node *node, Shape *ret_shape)
{
    Shape *const shapes = rewrite_alloc(rewrite, node->input_count, sizeof *shapes);
    const Tensor **const values = rewrite_alloc(rewrite, node->input_count, sizeof(const Tensor *));
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
    RewriteNode *const added = added_node(rewrite, beside, role, op);
    Endpoint *const inputs = rewrite_alloc(rewrite, op->input_count, sizeof *inputs);
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
