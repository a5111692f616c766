#include "shared/ops/variable/positions_rule.h"

#include <string.h>

static Status
check_indices(Call *call, const Positions *positions)
{
    for (int64_t element = 0; element < positions->count * positions->depth; element++) {
        int64_t size = positions->shape->dims[element % positions->depth];
        int64_t index = -1;
        bool is_read = tensor_to_int64(positions->indices, element, &index);
        if (!is_read || index < 0 || index >= size) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "index %lld at %lld is not within %lld",
                (long long)index, (long long)element, (long long)size);
        }
    }
    return STATUS_OK;
}

Status
positions_describe(
    Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Positions *ret_positions)
{
    const Shape *given = &indices->shape;
    if (is_nd && given->rank < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "indices of rank 0 have no coordinates");
    }
    Positions positions = {
        .shape = shape,
        .indices = indices,
        .count = 1,
        .depth = is_nd ? given->dims[given->rank - 1] : 1,
        .inner = 1,
        .is_nd = is_nd,
    };
    if (positions.depth > shape->rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld coordinates for a tensor of rank %d",
            (long long)positions.depth, shape->rank);
    }
    for (int dimension = 0; dimension < given->rank - (is_nd ? 1 : 0); dimension++) {
        positions.count *= given->dims[dimension];
    }
    for (int dimension = (int)positions.depth; dimension < shape->rank; dimension++) {
        positions.inner *= shape->dims[dimension];
    }
    *ret_positions = positions;
    return STATUS_OK;
}

Status
positions_find(Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Positions *ret_positions)
{
    TRY(positions_describe(call, shape, indices, is_nd, ret_positions));
    return check_indices(call, ret_positions);
}

int64_t
positions_at(const Positions *positions, int64_t position)
{
    int64_t number = 0;
    for (int64_t n = 0; n < positions->depth; n++) {
        int64_t index = 0;
        (void)!tensor_to_int64(positions->indices, position * positions->depth + n, &index);
        number = number * positions->shape->dims[n] + index;
    }
    return number;
}

Status
positions_shape(Call *call, const Positions *positions, Shape *ret_shape)
{
    Shape shape = positions->indices->shape;
    shape.rank -= positions->is_nd ? 1 : 0;
    int rest = positions->shape->rank - (int)positions->depth;
    if (shape.rank + rest > SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    memcpy(&shape.dims[shape.rank], &positions->shape->dims[positions->depth],
        (size_t)rest * sizeof *shape.dims);
    shape.rank += rest;
    *ret_shape = shape;
    return STATUS_OK;
}

Status
positions_check_updates(Call *call, const Positions *positions, const Tensor *updates)
{
    Shape expected;
    TRY(positions_shape(call, positions, &expected));
    if (shape_equal(&updates->shape, &expected) || (!positions->is_nd && updates->shape.rank == 0)) {
        return STATUS_OK;
    }
    char given[SHAPE_TEXT_SIZE];
    char wanted[SHAPE_TEXT_SIZE];
    return call_fail(call, STATUS_INVALID_ARGUMENT, "updates are of shape %s instead of %s",
        shape_text(&updates->shape, given), shape_text(&expected, wanted));
}
