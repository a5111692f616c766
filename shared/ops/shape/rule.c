#include "shared/ops/shape/rule.h"

static Status
read_target(Call *call, const InferContext *context, bool copies_zero, Shape *target, bool *ret_is_known)
{
    size_t count = 0;
    *target = shape_scalar();
    TRY(infer_ints(call, context, 1, target->dims, SHAPE_RANK_MAX, &count));
    *ret_is_known = infer_knows(context, 1);
    target->rank = (int)count;
    const Shape *input = &context->inputs[0];
    for (int index = 0; index < target->rank && copies_zero; index++) {
        if (target->dims[index] == 0 && input->rank >= 0) {
            if (index >= input->rank) {
                return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no dimension %d to copy", index);
            }
            target->dims[index] = input->dims[index];
            *ret_is_known = *ret_is_known && input->dims[index] >= 0;
        } else if (target->dims[index] == 0) {
            *ret_is_known = false;
        }
    }
    return STATUS_OK;
}

/* Multiplies the given dimensions, and finds the one to be inferred (-1: there is none). */
static Status
measure_target(Call *call, const Shape *target, int64_t *ret_count, int *ret_inferred)
{
    *ret_count = 1;
    *ret_inferred = -1;
    for (int index = 0; index < target->rank; index++) {
        if (target->dims[index] == -1 && *ret_inferred < 0) {
            *ret_inferred = index;
        } else if (target->dims[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "dimension %d of the shape is %lld, and only one may be inferred with -1", index,
                (long long)target->dims[index]);
        } else {
            TRY(infer_multiply(call, *ret_count, target->dims[index], ret_count));
        }
    }
    return STATUS_OK;
}

static Status
count_but_zeros(Call *call, const Shape *shape, int64_t *ret_count)
{
    *ret_count = 1;
    for (int index = 0; index < shape->rank; index++) {
        if (shape->dims[index] > 0) {
            TRY(infer_multiply(call, *ret_count, shape->dims[index], ret_count));
        }
    }
    return STATUS_OK;
}

static Status
fit_target(Call *call, const Shape *input, Shape *target)
{
    int64_t count = 0;
    int64_t available = 0;
    int inferred = -1;
    TRY(measure_target(call, target, &count, &inferred));
    if (!shape_is_known(input) || !shape_element_count(input, &available)) {
        return STATUS_OK; /* a dimension of -1 stays, which means unknown */
    }
    int64_t whole = available;
    int64_t part = count;
    if (inferred >= 0 && count == 0 && available == 0) {
        /* The dimension follows from the others that are not 0 when neither side has elements
         * (TensorFlow's ReshapeOp). */
        TRY(count_but_zeros(call, input, &whole));
        TRY(count_but_zeros(call, target, &part));
    }
    if (inferred < 0 ? count != available : part == 0 || whole % part != 0) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld elements of %s do not fill %s",
            (long long)available, shape_text(input, left), shape_text(target, right));
    }
    if (inferred >= 0) {
        target->dims[inferred] = whole / part;
    }
    return STATUS_OK;
}

Status
reshape_to(Call *call, InferContext *context, bool copies_zero)
{
    Shape target;
    bool is_known = false;
    TRY(read_target(call, context, copies_zero, &target, &is_known));
    if (is_known) {
        TRY(fit_target(call, &context->inputs[0], &target));
        context->outputs[0] = target;
    } else if (context->inputs[1].rank == 1 && context->inputs[1].dims[0] >= 0 &&
               context->inputs[1].dims[0] <= SHAPE_RANK_MAX) {
        context->outputs[0] = shape_of_rank((int)context->inputs[1].dims[0]);
    }
    return STATUS_OK;
}

static Status
mark_axes(Call *call, const int64_t *axes, size_t count, int rank, bool *ret_marks)
{
    for (size_t index = 0; index < count; index++) {
        int axis = 0;
        TRY(infer_axis(call, axes[index], rank, &axis));
        ret_marks[axis] = true;
    }
    return STATUS_OK;
}

Status
reshape_squeeze(Call *call, InferContext *context, const int64_t *axes, size_t count)
{
    const Shape *input = &context->inputs[0];
    bool is_dropped[SHAPE_RANK_MAX] = {false};
    if (input->rank < 0) {
        return STATUS_OK;
    }
    TRY(mark_axes(call, axes, count, input->rank, is_dropped));
    Shape output = shape_scalar();
    for (int index = 0; index < input->rank; index++) {
        int64_t size = input->dims[index];
        if (count == 0 && size < 0) {
            return STATUS_OK; /* the dimension may be dropped: the rank is unknown */
        }
        if (is_dropped[index] && size >= 0 && size != 1) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "dimension %d is %lld, not 1", index, (long long)size);
        }
        if (!is_dropped[index] && !(count == 0 && size == 1)) {
            output.dims[output.rank++] = size;
        }
    }
    context->outputs[0] = output;
    return STATUS_OK;
}

Status
reshape_unsqueeze(Call *call, InferContext *context, const int64_t *axes, size_t count)
{
    const Shape *input = &context->inputs[0];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int rank = input->rank + (int)count;
    bool is_new[SHAPE_RANK_MAX] = {false};
    if (rank > SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a rank of %d is above %d", rank, SHAPE_RANK_MAX);
    }
    TRY(mark_axes(call, axes, count, rank, is_new));
    Shape output = shape_of_rank(rank);
    int own = 0;
    for (int index = 0; index < rank; index++) {
        if (!is_new[index] && own == input->rank) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "an axis is given twice");
        }
        output.dims[index] = is_new[index] ? 1 : input->dims[own++];
    }
    context->outputs[0] = output;
    return STATUS_OK;
}

Status
reshape_flatten(Call *call, InferContext *context, int64_t axis)
{
    const Shape *input = &context->inputs[0];
    Shape output = shape_of_rank(2);
    if (input->rank >= 0) {
        int split = input->rank;
        if (axis != input->rank) {
            TRY(infer_axis(call, axis, input->rank, &split));
        }
        output.dims[0] = 1;
        output.dims[1] = 1;
        for (int index = 0; index < input->rank; index++) {
            int64_t *side = &output.dims[index < split ? 0 : 1];
            TRY(infer_multiply(call, *side, input->dims[index], side));
        }
    }
    context->outputs[0] = output;
    return STATUS_OK;
}
