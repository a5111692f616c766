#include "worker/reference/scaling.h"

#include "shared/ops/infer.h"

static const Lines ONE_FOR_ALL = {.outer = 1, .size = 1, .inner = INT64_MAX};

bool
scaling_has(Dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8 || dtype == DTYPE_INT16 || dtype == DTYPE_UINT16;
}

bool
scaling_is_plain(const Node *node)
{
    return node_attr_int(node, "block_size") == 0 && node_attr_type(node, "output_dtype") == DTYPE_INVALID;
}

Status
scaling_lines(KernelContext *context, uint32_t first, const Shape *shape, int64_t axis, Lines *ret_lines)
{
    const Tensor *scale = &context->inputs[first];
    const Tensor *zero = &context->inputs[first + 1];
    int64_t count = tensor_element_count(scale);
    Lines lines = ONE_FOR_ALL;
    if (scale->shape.rank > 0 && count != 1) {
        int position = 0;
        TRY(infer_axis(context->call, axis, shape->rank, &position));
        lines = lines_along(shape, position);
    }
    if (count != lines.size || scale->shape.rank > 1) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "scales of shape %s for an axis of %lld",
            shape_text(&scale->shape, text), (long long)lines.size);
    }
    if (zero->dtype != DTYPE_INVALID && tensor_element_count(zero) != count) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld zero points for %lld scales",
            (long long)tensor_element_count(zero), (long long)count);
    }
    *ret_lines = lines;
    return STATUS_OK;
}

Status
scaling_zero_lines(
    KernelContext *context, uint32_t input, uint32_t zero_points, int from_end, Lines *ret_lines)
{
    const Tensor *zero = &context->inputs[zero_points];
    const Shape *shape = &context->inputs[input].shape;
    int64_t count = zero->dtype == DTYPE_INVALID ? 1 : tensor_element_count(zero);
    Lines lines =
        count == 1 || shape->rank < from_end ? ONE_FOR_ALL : lines_along(shape, shape->rank - from_end);
    if (count != lines.size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld zero points for %lld",
            (long long)count, (long long)lines.size);
    }
    *ret_lines = lines;
    return STATUS_OK;
}
