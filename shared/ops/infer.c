#include "shared/ops/infer.h"

#include <assert.h>

Status
infer_unknown(Call *call, InferContext *context)
{
    (void)call;
    (void)context;
    return STATUS_OK;
}

Status
infer_unchanged(Call *call, InferContext *context)
{
    (void)call;
    uint32_t inputs = context->node->input_count;
    for (uint32_t index = 0; index < context->node->output_count && index < inputs; index++) {
        context->outputs[index] = context->inputs[index];
    }
    return STATUS_OK;
}

Status
infer_scalar(Call *call, InferContext *context)
{
    (void)call;
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = shape_scalar();
    }
    return STATUS_OK;
}

Status
infer_broadcast(Call *call, InferContext *context)
{
    assert(context->node->input_count > 0);
    Shape result = context->inputs[0];
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        const Shape *other = &context->inputs[index];
        Shape merged;
        if (!shape_broadcast(&result, other, &merged)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "shapes %s and %s do not broadcast",
                shape_text(&result, left), shape_text(other, right));
        }
        result = merged;
    }
    context->outputs[0] = result;
    return STATUS_OK;
}

bool
infer_knows(const InferContext *context, uint32_t input)
{
    return input < context->node->input_count && context->values[input] != NULL;
}

Status
infer_ints(Call *call, const InferContext *context, uint32_t input, int64_t *ret_values, size_t capacity,
    size_t *ret_count)
{
    assert(ret_values != NULL && capacity > 0);
    *ret_count = 0;
    if (!infer_knows(context, input)) {
        return STATUS_OK;
    }
    const Tensor *tensor = context->values[input];
    int64_t count = tensor_element_count(tensor);
    if (tensor->shape.rank > 1 || count > (int64_t)capacity) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not at most %zu values",
            input, shape_text(&tensor->shape, text), capacity);
    }
    for (int64_t index = 0; index < count; index++) {
        if (!tensor_to_int64(tensor, index, &ret_values[index])) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u is %s, not an integer tensor", input,
                dtype_name(tensor->dtype));
        }
    }
    *ret_count = (size_t)count;
    return STATUS_OK;
}

Status
infer_int(Call *call, const InferContext *context, uint32_t input, int64_t *ret_value, bool *ret_is_known)
{
    size_t count = 0;
    TRY(infer_ints(call, context, input, ret_value, 1, &count));
    *ret_is_known = infer_knows(context, input);
    if (*ret_is_known && count != 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u is empty, not one value", input);
    }
    return STATUS_OK;
}

Status
infer_axis(Call *call, int64_t axis, int rank, int *ret_axis)
{
    if (axis < -rank || axis >= rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "axis %lld is not within a tensor of rank %d",
            (long long)axis, rank);
    }
    *ret_axis = (int)(axis < 0 ? axis + rank : axis);
    return STATUS_OK;
}

Status
infer_rank(Call *call, const InferContext *context, uint32_t input, int rank, Shape *ret_shape)
{
    assert(input < context->node->input_count && rank >= 0 && rank <= SHAPE_RANK_MAX);
    const Shape *shape = &context->inputs[input];
    if (shape->rank >= 0 && shape->rank != rank) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not rank %d", input,
            shape_text(shape, text), rank);
    }
    *ret_shape = shape->rank < 0 ? shape_of_rank(rank) : *shape;
    return STATUS_OK;
}

Status
infer_equal(Call *call, int64_t left, int64_t right, const char *what, int64_t *ret_dimension)
{
    assert(what != NULL);
    if (left >= 0 && right >= 0 && left != right) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%s is %lld on one side and %lld on the other", what,
            (long long)left, (long long)right);
    }
    *ret_dimension = left >= 0 ? left : right;
    return STATUS_OK;
}

Status
infer_append(Call *call, const Shape *from, int first, int last, Shape *to)
{
    assert(first >= 0 && last <= from->rank && to->rank >= 0);

    for (int index = first; index < last; index++) {
        if (to->rank == SHAPE_RANK_MAX) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
        }
        to->dims[to->rank++] = from->dims[index];
    }
    return STATUS_OK;
}

Status
infer_check_size(Call *call, const Shape *shape)
{
    for (int index = 0; index < shape->rank; index++) {
        if (shape->dims[index] < -1) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not at least 0", index,
                (long long)shape->dims[index]);
        }
    }
    int64_t count = 0;
    if (shape_is_known(shape) && !shape_element_count(shape, &count)) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "shape %s has too many elements", shape_text(shape, text));
    }
    return STATUS_OK;
}

Status
infer_add(Call *call, int64_t left, int64_t right, int64_t *ret_sum)
{
    if (left < 0 || right < 0) {
        *ret_sum = -1;
        return STATUS_OK;
    }
    if (__builtin_add_overflow(left, right, ret_sum)) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "%lld and %lld elements are too many",
            (long long)left, (long long)right);
    }
    return STATUS_OK;
}

Status
infer_multiply(Call *call, int64_t left, int64_t right, int64_t *ret_product)
{
    if (left < 0 || right < 0) {
        *ret_product = -1;
        return STATUS_OK;
    }
    if (__builtin_mul_overflow(left, right, ret_product)) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "%lld times %lld elements are too many",
            (long long)left, (long long)right);
    }
    return STATUS_OK;
}

bool
infer_has_input(const InferContext *context, uint32_t input)
{
    return input < context->node->input_count && context->node->inputs[input].node != NODE_NONE;
}

Status
infer_shape_input(Call *call, InferContext *context, uint32_t input)
{
    assert(input < context->node->input_count);
    Shape shape = shape_scalar();
    size_t count = 0;
    TRY(infer_ints(call, context, input, shape.dims, SHAPE_RANK_MAX, &count));
    if (!infer_knows(context, input)) {
        const Shape *dims = &context->inputs[input];
        bool is_ranked = dims->rank == 1 && dims->dims[0] >= 0 && dims->dims[0] <= SHAPE_RANK_MAX;
        context->outputs[0] = is_ranked ? shape_of_rank((int)dims->dims[0]) : shape_unknown();
        return STATUS_OK;
    }
    shape.rank = (int)count;
    for (int index = 0; index < shape.rank; index++) {
        if (shape.dims[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not at least 0", index,
                (long long)shape.dims[index]);
        }
    }
    context->outputs[0] = shape;
    return infer_check_size(call, &shape);
}
