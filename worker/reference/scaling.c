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

static Status
check_one(KernelContext *context, uint32_t input)
{
    const Tensor *tensor = &context->inputs[input];
    char text[SHAPE_TEXT_SIZE];
    return tensor_element_count(tensor) == 1
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not one value",
                     input, shape_text(&tensor->shape, text));
}

Status
scaling_product(KernelContext *context, int64_t channels, Tensor *ret_scales, Requantizer *ret_requantizer)
{
    enum { X_SCALE = 1, X_ZERO, W_SCALE = 4, Y_SCALE = 6, Y_ZERO };
    int64_t count = tensor_element_count(&context->inputs[W_SCALE]);
    int64_t zero_point = 0;
    if (count != 1 && count != channels) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld scales for %lld channels",
            (long long)count, (long long)channels);
    }
    TRY(check_one(context, X_SCALE));
    TRY(check_one(context, X_ZERO));
    TRY(check_one(context, Y_SCALE));
    TRY(check_one(context, Y_ZERO));
    (void)!tensor_to_int64(&context->inputs[Y_ZERO], 0, &zero_point);
    *ret_requantizer = (Requantizer){context->node->output_dtypes[0], (int32_t)zero_point};
    AUTO_TENSOR x = {0};
    AUTO_TENSOR w = {0};
    AUTO_TENSOR y = {0};
    TRY(scratch_cast(context, &context->inputs[X_SCALE], DTYPE_FLOAT32, &x));
    TRY(scratch_cast(context, &context->inputs[W_SCALE], DTYPE_FLOAT32, &w));
    TRY(scratch_cast(context, &context->inputs[Y_SCALE], DTYPE_FLOAT32, &y));
    TRY(scratch_array(context, channels, sizeof(float), ret_scales));
    for (int64_t n = 0; n < channels; n++) {
        float right = ((const float *)w.data)[count == 1 ? 0 : n];
        ((float *)ret_scales->data)[n] = *(const float *)x.data * right / *(const float *)y.data;
    }
    return STATUS_OK;
}
