/* Lets a convolution pad its input itself where zeros are put around it first: Keras writes convolutions with
 * strides so, and PyTorch those with more padding behind than in front.
 *
 * Inexact: zeros times a filter that is not finite are NaN, while padding adds nothing. */
#include <assert.h>

#include "gateway/optimise/linear.h"
#include "gateway/optimise/pass.h"

enum { AMOUNTS_MAX = 2 * SHAPE_RANK_MAX };

/* Rows put in front of each dimension, and behind it. */
typedef struct Amounts {
    int rank;
    int64_t before[SHAPE_RANK_MAX];
    int64_t after[SHAPE_RANK_MAX];
} Amounts;

/* Returns whether the op is ONNX's, whose lists begin with all that is in front. TensorFlow's are pairs. */
static bool
is_onnx(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_is(rewrite, id, "onnx::Pad") || rewrite_is(rewrite, id, "onnx::Conv");
}

/* Spreads a list over the dimensions from `first` on. Returns false for a negative amount, which cuts off. */
static bool
spread(const int64_t *list, bool is_onnx, int first, Amounts *amounts)
{
    int count = amounts->rank - first;
    for (int index = 0; index < count; index++) {
        int64_t before = list[is_onnx ? index : 2 * index];
        int64_t after = list[is_onnx ? count + index : 2 * index + 1];
        if (before < 0 || after < 0) {
            return false;
        }
        amounts->before[first + index] = before;
        amounts->after[first + index] = after;
    }
    return true;
}

/* Returns whether what a Pad puts around its input is zeros. */
static bool
pads_with_zeros(const Rewrite *rewrite, uint32_t id)
{
    enum { VALUE = 2, AXES = 3 };
    Endpoint value = rewrite_input(rewrite, id, VALUE);
    bool is_zero = value.node == NODE_NONE || rewrite_is_number(rewrite, value, 0);
    if (rewrite_is(rewrite, id, "onnx::Pad")) {
        return is_zero && rewrite_input(rewrite, id, AXES).node == NODE_NONE &&
               slice_equals_string(node_attr_string(rewrite_node(rewrite, id), "mode"), "constant");
    }
    return rewrite_is(rewrite, id, "Pad") || (rewrite_is(rewrite, id, "PadV2") && is_zero);
}

/* Reads what a node puts around its input, zeros in known amounts. */
static bool
read_pad(const Rewrite *rewrite, uint32_t id, Amounts *ret_amounts)
{
    if (id == NODE_NONE || !pads_with_zeros(rewrite, id)) {
        return false;
    }
    const Tensor *values = rewrite_constant(rewrite, rewrite_input(rewrite, id, 1));
    int64_t list[AMOUNTS_MAX] = {0};
    int rank = rewrite_shape(rewrite, rewrite_input(rewrite, id, 0))->rank;
    int64_t count = 2 * (int64_t)rank;
    if (values == NULL || rank < 0 || tensor_element_count(values) != count) {
        return false;
    }
    for (int64_t index = 0; index < count; index++) {
        if (!tensor_to_int64(values, index, &list[index])) {
            return false;
        }
    }
    *ret_amounts = (Amounts){.rank = rank};
    return spread(list, is_onnx(rewrite, id), 0, ret_amounts);
}

/* Reads what a convolution puts around its input by itself, where that does not depend on sizes. */
static bool
read_own(const Rewrite *rewrite, uint32_t id, Amounts *ret_amounts)
{
    const Node *node = rewrite_node(rewrite, id);
    bool has_spaces_only = is_onnx(rewrite, id);
    Slice kind = node_attr_string(node, has_spaces_only ? "auto_pad" : "padding");
    const char *name = has_spaces_only ? "pads" : "explicit_paddings";
    int first = has_spaces_only ? 2 : 0;
    int64_t list[AMOUNTS_MAX] = {0};
    *ret_amounts = (Amounts){.rank = rewrite_shape(rewrite, rewrite_input(rewrite, id, 0))->rank};
    size_t count = node_attr_ints(node, name, list, AMOUNTS_MAX);
    if (slice_equals_string(kind, "VALID") || (slice_equals_string(kind, "NOTSET") && count == 0)) {
        return true;
    }
    return slice_equals_string(kind, has_spaces_only ? "NOTSET" : "EXPLICIT") &&
           count == 2 * (size_t)(ret_amounts->rank - first) &&
           spread(list, has_spaces_only, first, ret_amounts);
}

/* Returns whether the input has positions in all dimensions of space: over nothing but padding there are no
 * convolutions. */
static bool
has_positions(const Shape *input, int channel)
{
    for (int dimension = 1; dimension < input->rank; dimension++) {
        if (dimension != channel && input->dims[dimension] <= 0) {
            return false;
        }
    }
    return true;
}

/* Adds the amounts of a Pad, which must leave images and channels as they are. */
static bool
add_amounts(const Amounts *pad, int channel, Amounts *amounts)
{
    for (int dimension = 0; dimension < pad->rank; dimension++) {
        bool is_space = dimension != 0 && dimension != channel;
        int64_t *before = &amounts->before[dimension];
        int64_t *after = &amounts->after[dimension];
        if ((!is_space && (pad->before[dimension] > 0 || pad->after[dimension] > 0)) ||
            __builtin_add_overflow(*before, pad->before[dimension], before) ||
            __builtin_add_overflow(*after, pad->after[dimension], after)) {
            return false;
        }
    }
    return true;
}

/* Returns whether the convolution can do the work of the Pad in front of it; the amounts are those of both.
 */
static bool
find_pad(const Rewrite *rewrite, uint32_t id, Amounts *ret_amounts)
{
    const LinearOp *op = linear_find(rewrite, id);
    Amounts pad;
    if (op == NULL || op->kind != LINEAR_CONVOLUTION || linear_is_fused(op)) {
        return false;
    }
    uint32_t front = rewrite_input(rewrite, id, 0).node;
    if (!read_pad(rewrite, front, &pad) || !read_own(rewrite, id, ret_amounts)) {
        return false;
    }
    Endpoint input = rewrite_input(rewrite, front, 0);
    int channel = linear_channel_axis(rewrite, id);
    return pad.rank == ret_amounts->rank && rewrite_rests_on(rewrite, front, 0) &&
           rewrite_may_give_way(rewrite, front, input) &&
           has_positions(rewrite_shape(rewrite, input), channel) && add_amounts(&pad, channel, ret_amounts);
}

/* Makes a list of the amounts as the convolution has them. */
static Status
write_amounts(const Rewrite *rewrite, uint32_t id, const Amounts *amounts, AttrValue *ret_list)
{
    bool has_spaces_only = is_onnx(rewrite, id);
    int first = has_spaces_only ? 2 : 0;
    int count = amounts->rank - first;
    AttrValue *items = rewrite_alloc(rewrite, 2 * (size_t)count, sizeof *items);
    if (items == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (int index = 0; index < count; index++) {
        AttrValue *before = &items[has_spaces_only ? index : 2 * index];
        AttrValue *after = &items[has_spaces_only ? count + index : 2 * index + 1];
        *before = (AttrValue){.kind = ATTR_INT, .value.i = amounts->before[first + index]};
        *after = (AttrValue){.kind = ATTR_INT, .value.i = amounts->after[first + index]};
    }
    *ret_list = (AttrValue){
        .kind = ATTR_INT, .is_list = true, .value.list = {.count = 2 * (size_t)count, .items = items}};
    return STATUS_OK;
}

/* Copies the attributes of a convolution, with these amounts as its padding. Authors may have given it any
 * number that begin with '_'. */
static Status
write_attrs(const Rewrite *rewrite, uint32_t id, const Amounts *amounts, Attr **ret_attrs)
{
    const Node *node = rewrite_node(rewrite, id);
    AttrValue list;
    TRY(write_amounts(rewrite, id, amounts, &list));
    Attr *attrs = rewrite_alloc(rewrite, node->attr_count, sizeof *attrs);
    if (attrs == NULL) {
        return rewrite_no_memory(rewrite);
    }
    for (size_t index = 0; index < node->attr_count; index++) {
        attrs[index] = node->attrs[index];
        if (slice_equals_string(attrs[index].name, "padding")) {
            attrs[index].value.value.s = SLICE("EXPLICIT");
        } else if (slice_equals_string(attrs[index].name, "auto_pad")) {
            attrs[index].value.value.s = SLICE("NOTSET");
        } else if (slice_equals_string(attrs[index].name, "explicit_paddings") ||
                   slice_equals_string(attrs[index].name, "pads")) {
            attrs[index].value = list;
        }
    }
    *ret_attrs = attrs;
    return STATUS_OK;
}

static Status
fold_pad(Rewrite *rewrite, uint32_t id, const Amounts *amounts)
{
    enum { INPUTS_MAX = LINEAR_BIAS + 1 };
    const Node *node = rewrite_node(rewrite, id);
    Endpoint inputs[INPUTS_MAX] = {0};
    Attr *attrs = NULL;
    TRY(write_attrs(rewrite, id, amounts, &attrs));
    assert(node->input_count <= INPUTS_MAX);
    for (uint32_t index = 0; index < node->input_count; index++) {
        inputs[index] = rewrite_input(rewrite, id, index);
    }
    inputs[0] = rewrite_input(rewrite, inputs[0].node, 0);
    RewriteOp convolution = {.op = linear_find(rewrite, id)->op,
        .inputs = inputs,
        .input_count = node->input_count,
        .attrs = attrs,
        .attr_count = (uint32_t)node->attr_count};
    return rewrite_replace(rewrite, id, &convolution);
}

static Status
pad_folding(Rewrite *rewrite)
{
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        Amounts amounts;
        if (find_pad(rewrite, id, &amounts)) {
            TRY(fold_pad(rewrite, id, &amounts));
        }
    }
    return STATUS_OK;
}

PASS(pad_folding, PASS_SIMPLIFY, false);
