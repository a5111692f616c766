#include "shared/ops/reduce/rule.h"

static bool
is_onnx(const Node *node)
{
    return slice_starts_with(node->op->name, SLICE("onnx::"));
}

static bool
keeps_dimensions(const Node *node)
{
    return is_onnx(node) ? node_attr_int(node, "keepdims") != 0 : node_attr_bool(node, "keep_dims");
}

/* An empty list of axes means all axes in ONNX. */
static bool
takes_all(const Node *node, size_t count)
{
    return count == 0 && is_onnx(node) && node_attr_int(node, "noop_with_empty_axes") == 0;
}

static void
reduce_shape(const Shape *input, bool keeps, Reduction *reduction)
{
    Shape output = shape_scalar();
    for (int index = 0; index < input->rank; index++) {
        if (!reduction->is_reduced[index]) {
            output.dims[output.rank++] = input->dims[index];
        } else if (keeps) {
            output.dims[output.rank++] = 1;
        }
    }
    reduction->output = output;
}

Status
reduction_read(Call *call, const InferContext *context, Reduction *ret_reduction)
{
    const Shape *input = &context->inputs[0];
    const Node *node = context->node;
    int64_t axes[SHAPE_RANK_MAX];
    size_t count = 0;
    Reduction reduction = {.is_known = !infer_has_input(context, 1), .output = shape_unknown()};
    if (!reduction.is_known) {
        TRY(infer_ints(call, context, 1, axes, SHAPE_RANK_MAX, &count));
        reduction.is_known = infer_knows(context, 1);
    }
    reduction.is_known = reduction.is_known && input->rank >= 0;
    if (!reduction.is_known) {
        if (input->rank >= 0 && keeps_dimensions(node)) {
            reduction.output = shape_of_rank(input->rank);
        }
        *ret_reduction = reduction;
        return STATUS_OK;
    }
    for (size_t index = 0; index < count; index++) {
        int axis = 0;
        TRY(infer_axis(call, axes[index], input->rank, &axis));
        if (reduction.is_reduced[axis]) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is reduced twice", axis);
        }
        reduction.is_reduced[axis] = true;
    }
    for (int index = 0; index < input->rank && takes_all(node, count); index++) {
        reduction.is_reduced[index] = true;
    }
    reduce_shape(input, keeps_dimensions(node), &reduction);
    *ret_reduction = reduction;
    return STATUS_OK;
}
