#include "shared/ops/pooling/rule.h"

#include "shared/ops/layout.h"

/* Returns 3 for the ops with 3D in their names, else 2. */
static int
spatial_rank(const Node *node)
{
    Slice name = node->op->name;
    return slice_starts_with(slice_part(name, strlen("AvgPool"), SIZE_MAX), SLICE("3D")) ? 3 : 2;
}

static Status
pool_shape(Call *call, const Node *node, const Shape *input, Pooling *ret_pooling)
{
    int rank = spatial_rank(node);
    int64_t sizes[WINDOW_RANK_MAX + 2];
    if (node_attr_ints(node, "ksize", sizes, COUNT_OF(sizes)) != (size_t)rank + 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "ksize has not %d values", rank + 2);
    }
    bool is_channels_first = layout_is_written_channels_first(node);
    if (sizes[0] != 1 || sizes[is_channels_first ? 1 : rank + 1] != 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "ksize must be 1 for batch and channels");
    }
    Pooling pooling;
    TRY(window_tensorflow(call, node, input, &sizes[is_channels_first ? 2 : 1], rank, &pooling.window));
    pooling.output = window_output(&pooling.window, input, input->dims[pooling.window.channel]);
    *ret_pooling = pooling;
    return infer_check_size(call, &pooling.output);
}

Status
pooling_tensorflow(Call *call, const InferContext *context, Pooling *ret_pooling)
{
    Shape input;
    TRY(infer_rank(call, context, 0, spatial_rank(context->node) + 2, &input));
    return pool_shape(call, context->node, &input, ret_pooling);
}

/* Checks the last input, the gradient of the pool's output. */
static Status
check_gradient(Call *call, const InferContext *context, const Shape *output)
{
    const Shape *gradient = &context->inputs[context->node->input_count - 1];
    Shape merged;
    if (!shape_merge(gradient, output, &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output's gradient has shape %s, not %s",
            shape_text(gradient, left), shape_text(output, right));
    }
    return STATUS_OK;
}

Status
pooling_gradient(Call *call, const InferContext *context, Pooling *ret_pooling, Shape *ret_input)
{
    int rank = spatial_rank(context->node) + 2;
    Shape input = shape_of_rank(rank);
    size_t count = 0;
    if (context->node->input_count == 3) {
        TRY(infer_rank(call, context, 0, rank, &input));
    } else {
        TRY(infer_ints(call, context, 0, input.dims, SHAPE_RANK_MAX, &count));
        if (infer_knows(context, 0) && count != (size_t)rank) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input 0 has %zu sizes, not %d", count, rank);
        }
        TRY(infer_check_size(call, &input));
    }
    TRY(pool_shape(call, context->node, &input, ret_pooling));
    *ret_input = input;
    return check_gradient(call, context, &ret_pooling->output);
}

static Status
check_rank(Call *call, const Shape *input)
{
    int rank = input->rank - 2;
    if (rank < 1 || rank > WINDOW_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d has no 1 to %d spatial dimensions",
            input->rank, WINDOW_RANK_MAX);
    }
    return STATUS_OK;
}

Status
pooling_onnx(Call *call, const InferContext *context, Pooling *ret_pooling)
{
    const Shape *input = &context->inputs[0];
    int64_t sizes[WINDOW_RANK_MAX];
    TRY(check_rank(call, input));
    int rank = input->rank - 2;
    size_t count = node_attr_ints(context->node, "kernel_shape", sizes, WINDOW_RANK_MAX);
    if (count != (size_t)rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "kernel_shape has %zu values, not %d", count, rank);
    }
    Pooling pooling;
    TRY(window_onnx(call, context->node, input, sizes, rank, &pooling.window));
    pooling.output = window_output(&pooling.window, input, input->dims[pooling.window.channel]);
    *ret_pooling = pooling;
    return infer_check_size(call, &pooling.output);
}

Status
pooling_global(Call *call, const InferContext *context, Pooling *ret_pooling)
{
    const Shape *input = &context->inputs[0];
    TRY(check_rank(call, input));
    Pooling pooling = {
        .window = {.rank = input->rank - 2, .channel = layout_onnx_channel(context->node, input->rank)}};
    pooling.window.space = layout_space(pooling.window.channel);
    for (int index = 0; index < pooling.window.rank; index++) {
        pooling.window.size[index] = input->dims[pooling.window.space + index];
        pooling.window.stride[index] = 1;
        pooling.window.dilation[index] = 1;
        pooling.window.output[index] = 1;
    }
    pooling.output = window_output(&pooling.window, input, input->dims[pooling.window.channel]);
    *ret_pooling = pooling;
    return infer_check_size(call, &pooling.output);
}
