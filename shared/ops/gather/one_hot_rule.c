#include "shared/ops/gather/one_hot_rule.h"

#include "shared/tensor/half.h"

/* Returns the number of a floating dtype. */
static double
read_floating(const Tensor *tensor)
{
    if (tensor->dtype == DTYPE_FLOAT64) {
        return *(const double *)tensor->data;
    }
    if (tensor->dtype == DTYPE_FLOAT32) {
        return (double)*(const float *)tensor->data;
    }
    uint16_t bits = *(const uint16_t *)tensor->data;
    return (double)(tensor->dtype == DTYPE_FLOAT16 ? half_to_float(bits) : bfloat16_to_float(bits));
}

/* Reads a number of any real dtype. A float beyond 2^53 is no size. */
static bool
read_number(const Tensor *tensor, int64_t *ret_number)
{
    if (!dtype_is_floating(tensor->dtype)) {
        return tensor_to_int64(tensor, 0, ret_number);
    }
    double number = read_floating(tensor);
    bool is_size = number > -0x1p53 && number < 0x1p53;
    *ret_number = is_size ? (int64_t)number : -1;
    return true;
}

Status
one_hot_depth(Call *call, const InferContext *context, int64_t *ret_depth)
{
    *ret_depth = -1;
    if (!infer_knows(context, 1)) {
        return STATUS_OK;
    }
    const Tensor *tensor = context->values[1];
    int64_t depth = 0;
    if (tensor_element_count(tensor) != 1 || tensor->shape.rank > 1) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the depth has shape %s, not one value",
            shape_text(&tensor->shape, text));
    }
    if (!read_number(tensor, &depth)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the depth is %s, not a number", dtype_name(tensor->dtype));
    }
    if (depth <= 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the depth is %lld, not above 0", (long long)depth);
    }
    *ret_depth = depth;
    return STATUS_OK;
}
