#include "shared/ops/pooling.h"

Status
pooling_tensorflow(Call *call, const InferContext *context, Pooling *ret_pooling)
{
    const Node *node = context->node;
    int64_t sizes[4];
    Shape input;
    TRY(infer_rank(call, context, 0, 4, &input));
    if (node_attr_ints(node, "ksize", sizes, 4) != 4) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "ksize has not 4 values");
    }
    const bool is_channels_first = slice_starts_with(node_attr_string(node, "data_format"), SLICE("NC"));
    if (sizes[0] != 1 || sizes[is_channels_first ? 1 : 3] != 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "ksize must be 1 for batch and channels");
    }
    Pooling pooling;
    TRY(window_tensorflow(call, node, &input, &sizes[is_channels_first ? 2 : 1], 2, &pooling.window));
    pooling.output = window_output(&pooling.window, &input, input.dims[pooling.window.channel]);
    *ret_pooling = pooling;
    return infer_check_size(call, &pooling.output);
}

static Status
check_rank(Call *call, const Shape *input)
{
    const int rank = input->rank - 2;
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
    const int rank = input->rank - 2;
    const size_t count = node_attr_ints(context->node, "kernel_shape", sizes, WINDOW_RANK_MAX);
    if (count != (size_t)rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "kernel_shape has %zu values, not %d", count, rank);
    }
    Pooling pooling;
    TRY(window_onnx(call, context->node, input, sizes, rank, &pooling.window));
    pooling.output = window_output(&pooling.window, input, input->dims[1]);
    *ret_pooling = pooling;
    return infer_check_size(call, &pooling.output);
}

Status
pooling_global(Call *call, const InferContext *context, Pooling *ret_pooling)
{
    const Shape *input = &context->inputs[0];
    TRY(check_rank(call, input));
    Pooling pooling = {.window = {.rank = input->rank - 2, .channel = 1, .space = 2}};
    for (int index = 0; index < pooling.window.rank; index++) {
        pooling.window.size[index] = input->dims[2 + index];
        pooling.window.stride[index] = 1;
        pooling.window.dilation[index] = 1;
        pooling.window.output[index] = 1;
    }
    pooling.output = window_output(&pooling.window, input, input->dims[1]);
    *ret_pooling = pooling;
    return infer_check_size(call, &pooling.output);
}
