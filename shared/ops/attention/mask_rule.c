#include "shared/ops/attention/mask_rule.h"

enum { MASK, QUERY, KEY, PAST };

static bool
fits(int64_t left, int64_t right)
{
    return left < 0 || right < 0 || left == right;
}

static bool
mask_fits(const Shape *mask, const Shape *scores)
{
    int64_t batch = scores->dims[0];
    switch (mask->rank) {
    case 1:
        return fits(mask->dims[0], batch) || (mask->dims[0] % 2 == 0 && mask->dims[0] / 2 == batch) ||
               (mask->dims[0] % 3 == 2 && mask->dims[0] / 3 == batch);
    case 2:
        return fits(mask->dims[0], batch) && fits(mask->dims[1], scores->dims[3]);
    case 3:
        return fits(mask->dims[0], batch) && fits(mask->dims[1], scores->dims[2]) &&
               fits(mask->dims[2], scores->dims[3]);
    default:
        return false;
    }
}

/* The length is the dimension in front of the last one: [batch, length, size], [batch, heads, length, size].
 */
static Status
length_of(Call *call, const Shape *shape, int64_t *ret_length)
{
    if (shape->rank != 3 && shape->rank != 4) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s of queries or keys is not of rank 3 or 4",
            shape_text(shape, text));
    }
    *ret_length = shape->dims[shape->rank - 2];
    return STATUS_OK;
}

Status
key_mask_shape(Call *call, const InferContext *context, Shape *ret_shape)
{
    int64_t keys = 0;
    int64_t past = 0;
    Shape shape = {.rank = 4, .dims = {0, 1}};
    bool has_past = infer_has_input(context, PAST);
    if (context->inputs[QUERY].rank < 0 || context->inputs[KEY].rank < 0 || context->inputs[MASK].rank < 0 ||
        (has_past && context->inputs[PAST].rank < 0)) {
        return STATUS_OK;
    }
    shape.dims[0] = context->inputs[QUERY].dims[0];
    TRY(length_of(call, &context->inputs[QUERY], &shape.dims[2]));
    TRY(length_of(call, &context->inputs[KEY], &keys));
    TRY(has_past ? length_of(call, &context->inputs[PAST], &past) : STATUS_OK);
    TRY(infer_add(call, keys, past, &shape.dims[3]));
    if (!mask_fits(&context->inputs[MASK], &shape)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a mask of shape %s does not fit scores of shape %s",
            shape_text(&context->inputs[MASK], left), shape_text(&shape, right));
    }
    *ret_shape = shape;
    return infer_check_size(call, ret_shape);
}
