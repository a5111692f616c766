#include "worker/runtime/partition/layout.h"

#include <assert.h>

#include "shared/ops/epilogue.h"
#include "shared/ops/layout.h"
#include "shared/ops/registry.h"
#include "worker/runtime/partition/stages.h"

/* Of three dimensions, one permutation leads to either layout: it is left as it is. */
enum { RANK_MIN = 3, TRANSPOSE_RANK_MIN = 4 };

void
layout_permutation(LayoutOrder order, int rank, int64_t *ret_axes)
{
    int front = order == LAYOUT_TO_LAST_ALIGNED ? 0 : 1; /* dimensions that stay in front */
    int at = 0;
    assert(rank <= SHAPE_RANK_MAX);
    if (order == LAYOUT_OF_FILTER2) {
        ret_axes[at++] = rank - 1;
        for (int axis = 0; axis < rank - 1; axis++) {
            ret_axes[at++] = axis;
        }
        return;
    }
    for (int axis = 0; axis < front; axis++) {
        ret_axes[at++] = axis;
    }
    if (order == LAYOUT_TO_FIRST) {
        ret_axes[at++] = rank - 1;
        for (int axis = front; axis < rank - 1; axis++) {
            ret_axes[at++] = axis;
        }
        return;
    }
    for (int axis = front + 1; axis < rank; axis++) {
        ret_axes[at++] = axis;
    }
    ret_axes[at] = front;
}

/* Of the ops in the table, those that do not declare data_format are ONNX's. */
static bool
is_written_channels_first(const Node *node)
{
    return node_attr(node, "data_format") == NULL || layout_is_written_channels_first(node);
}

static LayoutRole
role_of_first(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    (void)graph;
    (void)node;
    return input == 0 ? LAYOUT_IMAGE : LAYOUT_KEPT;
}

static LayoutRole
role_of_each(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    (void)graph;
    (void)node;
    (void)input;
    return LAYOUT_IMAGE;
}

static bool
is_last_input(const Node *node, uint32_t input)
{
    return input + 1 == node->input_count;
}

/* The last input of ConcatV2 is the axis. */
static LayoutRole
role_of_joined(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    (void)graph;
    return is_last_input(node, input) ? LAYOUT_KEPT : LAYOUT_IMAGE;
}

/* The addend of a fused convolution is an image of the output's shape. */
static bool
is_addend(const Node *node, uint32_t input)
{
    Call call = {0};
    Epilogue epilogue;
    return node_attr(node, "fused_ops") != NULL && epilogue_read(&call, node, &epilogue) == STATUS_OK &&
           epilogue.addend != 0 && epilogue.addend == input;
}

bool
layout_is_filter_alone(const LayoutRule *rule, const Node *node)
{
    return rule->is_convolution && !is_written_channels_first(node);
}

static LayoutRole
role_with_filter(const Node *node, uint32_t input, LayoutRole filter)
{
    if (!is_written_channels_first(node)) {
        return input == 1 ? filter : LAYOUT_KEPT;
    }
    return input == 0 || is_addend(node, input) ? LAYOUT_IMAGE : input == 1 ? filter : LAYOUT_KEPT;
}

static LayoutRole
role_of_convolution(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    (void)graph;
    return role_with_filter(node, input, LAYOUT_FILTER2);
}

static LayoutRole
role_of_onnx_convolution(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    (void)graph;
    return role_with_filter(node, input, LAYOUT_FILTER);
}

/* A depthwise filter of TensorFlow's has one order, whatever the layout of the image. */
static LayoutRole
role_of_depthwise(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    (void)graph;
    return role_with_filter(node, input, LAYOUT_KEPT);
}

static bool
has_one_element(const Shape *shape)
{
    int64_t count = 0;
    return shape_element_count(shape, &count) && count == 1;
}

static LayoutRole
role_of_operand(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    const Shape *shape = layout_shape(graph, node->inputs[input]);
    if (shape->rank == layout_rank(graph, node)) {
        return LAYOUT_IMAGE;
    }
    return has_one_element(shape) ? LAYOUT_KEPT : LAYOUT_ALIGNED;
}

static bool
never(const LayoutGraph *graph, const Node *node)
{
    (void)graph;
    (void)node;
    return false;
}

static bool
may_turn_convolution(const LayoutGraph *graph, const Node *node)
{
    (void)graph;
    Dtype dtype = node->input_dtypes[0];
    bool has_16_bits = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    return has_16_bits || (dtype == DTYPE_FLOAT32 && !is_written_channels_first(node));
}

/* The positions that a second output has count in the author's layout. */
static bool
may_turn_pool(const LayoutGraph *graph, const Node *node)
{
    (void)graph;
    return (node->read_outputs & ~1U) == 0 && is_written_channels_first(node);
}

/* Statistics that are computed have sums whose order is that of the elements. */
static bool
may_turn_norm(const LayoutGraph *graph, const Node *node)
{
    (void)graph;
    const AttrValue *is_training = node_attr(node, "is_training");
    const AttrValue *mode = node_attr(node, "training_mode");
    return (is_training == NULL || !is_training->value.b) && (mode == NULL || mode->value.i == 0) &&
           is_written_channels_first(node);
}

static bool
may_turn_elements(const LayoutGraph *graph, const Node *node)
{
    (void)graph;
    return (node->op->flags & OP_ELEMENTWISE) != 0 && node->output_count == 1;
}

/* Gives the node other attributes: one int of this name has this value. */
static Status
change_axis(Call *call, const LayoutGraph *graph, Node *node, const Attr *axis)
{
    Attr *attrs = arena_alloc(graph->partition->arena, (node->attr_count + 1) * sizeof *attrs);
    if (attrs == NULL) {
        return call_fail_memory(call, "a node whose channels are last");
    }
    memcpy(attrs, node->attrs, node->attr_count * sizeof *attrs);
    for (size_t index = 0; index < node->attr_count; index++) {
        if (slice_equal(attrs[index].name, axis->name)) {
            attrs[index] = *axis;
        }
    }
    node->attrs = attrs;
    return STATUS_OK;
}

/* Returns where a dimension lies when the channels are last. */
static int64_t
turned_axis(int64_t axis, int rank)
{
    axis += axis < 0 ? rank : 0;
    return axis == 1 ? rank - 1 : axis > 1 ? axis - 1 : axis;
}

static Status
turn_onnx_concat(Call *call, const LayoutGraph *graph, Node *node)
{
    Attr axis = {.name = SLICE("axis"), .value = {.kind = ATTR_INT}};
    axis.value.value.i = turned_axis(node_attr_int(node, "axis"), layout_rank(graph, node));
    return change_axis(call, graph, node, &axis);
}

/* Reads the axis of ConcatV2. */
static bool
read_axis(const LayoutGraph *graph, const Node *node, int64_t *ret_axis)
{
    const ScheduleNode *axis = known_constant(graph->partition, node->inputs[node->input_count - 1]);
    return axis != NULL && tensor_element_count(axis->value) == 1 &&
           tensor_to_int64(axis->value, 0, ret_axis);
}

static bool
may_turn_concat_v2(const LayoutGraph *graph, const Node *node)
{
    int64_t axis = 0;
    return read_axis(graph, node, &axis);
}

/* Makes the node another op over the first of its inputs, which has the same attributes and perhaps one more.
 */
static Status
become(Call *call, const LayoutGraph *graph, Node *node, const char *op, const Attr *attr)
{
    NodeDef *def = arena_alloc(graph->partition->arena, sizeof *def);
    Attr *attrs = arena_alloc(graph->partition->arena, (node->attr_count + 1) * sizeof *attrs);
    if (def == NULL || attrs == NULL) {
        return call_fail_memory(call, "a node whose channels are last");
    }
    *def = *node->def;
    def->op = slice_from_string(op);
    memcpy(attrs, node->attrs, node->attr_count * sizeof *attrs);
    if (attr != NULL) {
        attrs[node->attr_count++] = *attr;
    }
    node->op = op_find(def->op);
    node->def = def;
    node->attrs = attrs;
    assert(node->op != NULL);
    return STATUS_OK;
}

static Status
turn_concat_v2(Call *call, const LayoutGraph *graph, Node *node)
{
    Attr attr = {.name = SLICE("axis"), .value = {.kind = ATTR_INT}};
    int64_t axis = 0;
    bool is_known = read_axis(graph, node, &axis);
    assert(is_known);
    attr.value.value.i = turned_axis(axis, layout_rank(graph, node));
    node->input_count--;
    return become(call, graph, node, "onnx::Concat", &attr);
}

static bool
read_axes(const LayoutGraph *graph, const Node *node, int rank, int64_t *ret_axes)
{
    if (node_attr(node, "perm") != NULL) {
        return node_attr_ints(node, "perm", ret_axes, SHAPE_RANK_MAX) == (size_t)rank;
    }
    const ScheduleNode *values = known_constant(graph->partition, node->inputs[1]);
    if (values == NULL || tensor_element_count(values->value) != rank) {
        return false;
    }
    for (int index = 0; index < rank; index++) {
        if (!tensor_to_int64(values->value, index, &ret_axes[index])) {
            return false;
        }
        ret_axes[index] += ret_axes[index] < 0 ? rank : 0;
    }
    return true;
}

static bool
permutes(const LayoutGraph *graph, const Node *node, LayoutOrder order)
{
    int64_t axes[SHAPE_RANK_MAX];
    int64_t wanted[SHAPE_RANK_MAX];
    int rank = layout_rank(graph, node);
    if (rank < TRANSPOSE_RANK_MIN || !read_axes(graph, node, rank, axes)) {
        return false;
    }
    layout_permutation(order, rank, wanted);
    return memcmp(axes, wanted, (size_t)rank * sizeof *axes) == 0;
}

static bool
may_turn_transpose(const LayoutGraph *graph, const Node *node)
{
    return permutes(graph, node, LAYOUT_TO_LAST) || permutes(graph, node, LAYOUT_TO_FIRST);
}

/* What goes to the last dimension is an image whose channels are first; what comes from there is none. */
static LayoutRole
role_of_transposed(const LayoutGraph *graph, const Node *node, uint32_t input)
{
    return input == 0 && permutes(graph, node, LAYOUT_TO_LAST) ? LAYOUT_IMAGE : LAYOUT_KEPT;
}

static Status
turn_transpose(Call *call, const LayoutGraph *graph, Node *node)
{
    node->input_count = 1;
    return become(call, graph, node, "Identity", NULL);
}

#define CONVOLUTION(name, roles)                                                                             \
    {                                                                                                        \
        .op = (name), .role = (roles), .may_turn = may_turn_convolution, .is_convolution = true              \
    }
#define POOL(name)                                                                                           \
    {                                                                                                        \
        .op = (name), .role = role_of_first, .may_turn = may_turn_pool                                       \
    }
#define NORM(name)                                                                                           \
    {                                                                                                        \
        .op = (name), .role = role_of_first, .may_turn = may_turn_norm                                       \
    }
#define TRANSPOSE(name)                                                                                      \
    {                                                                                                        \
        .op = (name), .role = role_of_transposed, .may_turn = may_turn_transpose, .turn = turn_transpose,    \
        .is_transpose = true                                                                                 \
    }

/* The first row that names the op holds. */
static const LayoutRule RULES[] = {
    CONVOLUTION("Conv2D", role_of_convolution),
    CONVOLUTION("Conv3D", role_of_convolution),
    CONVOLUTION("_FusedConv2D", role_of_convolution),
    CONVOLUTION("DepthwiseConv2dNative", role_of_depthwise),
    CONVOLUTION("FusedDepthwiseConv2dNative", role_of_depthwise),
    CONVOLUTION("_FusedDepthwiseConv2dNative", role_of_depthwise),
    CONVOLUTION("onnx::Conv", role_of_onnx_convolution),
    CONVOLUTION("_FusedOnnxConv", role_of_onnx_convolution),
    POOL("MaxPool"),
    POOL("AvgPool"),
    POOL("MaxPool3D"),
    POOL("AvgPool3D"),
    POOL("onnx::MaxPool"),
    POOL("onnx::AveragePool"),
    POOL("onnx::LpPool"),
    POOL("onnx::GlobalMaxPool"),
    POOL("onnx::GlobalAveragePool"),
    POOL("onnx::GlobalLpPool"),
    NORM("BiasAdd"),
    NORM("FusedBatchNorm"),
    NORM("FusedBatchNormV2"),
    NORM("FusedBatchNormV3"),
    NORM("onnx::BatchNormalization"),
    {.op = "onnx::Concat", .role = role_of_each, .turn = turn_onnx_concat},
    {.op = "ConcatV2", .role = role_of_joined, .may_turn = may_turn_concat_v2, .turn = turn_concat_v2},
    TRANSPOSE("Transpose"),
    TRANSPOSE("onnx::Transpose"),
    {.op = "BiasAddV1", .role = role_of_first, .may_turn = never},     /* of the last dimension, always */
    {.op = "AccumulateNV2", .role = role_of_first, .may_turn = never}, /* its attribute has the shape */
    {.role = role_of_operand, .may_turn = may_turn_elements},
};

static const LayoutRule *
find_rule(const Node *node)
{
    for (size_t index = 0; index < COUNT_OF(RULES); index++) {
        if (RULES[index].op == NULL || slice_equals_string(node->op->name, RULES[index].op)) {
            return &RULES[index];
        }
    }
    return NULL;
}

bool
layout_is_convolution(const Node *node)
{
    const LayoutRule *rule = node->op == NULL ? NULL : find_rule(node);
    return rule != NULL && rule->is_convolution && may_turn_convolution(NULL, node);
}

Shape
layout_image(const LayoutGraph *graph, const Node *node)
{
    const Shape *filter = layout_shape(graph, node->inputs[1]);
    Shape image = filter->rank < RANK_MIN ? shape_unknown() : shape_of_rank(filter->rank);
    int64_t channels = 0;
    if (image.rank > 0 && node_attr(node, "group") != NULL && filter->dims[1] >= 0 &&
        !__builtin_mul_overflow(filter->dims[1], node_attr_int(node, "group"), &channels)) {
        image.dims[1] = channels;
    }
    return image;
}

/* Returns whether the node reads the input as the rule wants it: an image has the rank of all. */
static bool
fits_role(const LayoutGraph *graph, const LayoutRule *rule, const Node *node, uint32_t input)
{
    Endpoint from = node->inputs[input];
    if (from.node == NODE_NONE) {
        return true;
    }
    int rank = layout_rank(graph, node);
    int given = layout_shape(graph, from)->rank;
    LayoutRole role = rule->role(graph, node, input);
    bool is_value = !node_input_is_reference(node, input) &&
                    !node_output_is_reference(&graph->partition->graph->nodes[from.node], from.port);
    return is_value && (role == LAYOUT_KEPT || given == (role == LAYOUT_ALIGNED ? rank - 1 : rank));
}

const LayoutRule *
layout_rule(const LayoutGraph *graph, const Node *node)
{
    if (node->op == NULL || node->output_count == 0 || node->input_count == 0 ||
        layout_rank(graph, node) < RANK_MIN) {
        return NULL;
    }
    const LayoutRule *rule = find_rule(node);
    bool may_turn = rule != NULL && (rule->may_turn == NULL || rule->may_turn(graph, node));
    for (uint32_t input = 0; may_turn && input < node->input_count; input++) {
        may_turn = fits_role(graph, rule, node, input);
    }
    return may_turn ? rule : NULL;
}

bool
layout_makes_image(const LayoutGraph *graph, const LayoutRule *rule, Endpoint output)
{
    const Node *node = &graph->partition->graph->nodes[output.node];
    return output.port == 0 && !layout_is_filter_alone(rule, node) &&
           !(rule->is_transpose && permutes(graph, node, LAYOUT_TO_LAST));
}
