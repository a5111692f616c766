#include "shared/ops/variable/places.h"

#include <string.h>

static Status
check_indices(Call *call, const Places *places)
{
    for (int64_t element = 0; element < places->count * places->depth; element++) {
        const int64_t size = places->shape->dims[element % places->depth];
        int64_t index = -1;
        const bool is_read = tensor_to_int64(places->indices, element, &index);
        if (!is_read || index < 0 || index >= size) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "index %lld at %lld is not within %lld",
                (long long)index, (long long)element, (long long)size);
        }
    }
    return STATUS_OK;
}

Status
places_find(Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Places *ret_places)
{
    const Shape *const given = &indices->shape;
    if (is_nd && given->rank < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "indices of rank 0 have no coordinates");
    }
    Places places = {
        .shape = shape,
        .indices = indices,
        .count = 1,
        .depth = is_nd ? given->dims[given->rank - 1] : 1,
        .inner = 1,
        .is_nd = is_nd,
    };
    if (places.depth > shape->rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld coordinates for a tensor of rank %d",
            (long long)places.depth, shape->rank);
    }
    for (int dimension = 0; dimension < given->rank - (is_nd ? 1 : 0); dimension++) {
        places.count *= given->dims[dimension];
    }
    for (int dimension = (int)places.depth; dimension < shape->rank; dimension++) {
        places.inner *= shape->dims[dimension];
    }
    TRY(check_indices(call, &places));
    *ret_places = places;
    return STATUS_OK;
}

int64_t
places_at(const Places *places, int64_t place)
{
    int64_t number = 0;
    for (int64_t n = 0; n < places->depth; n++) {
        int64_t index = 0;
        (void)!tensor_to_int64(places->indices, place * places->depth + n, &index);
        number = number * places->shape->dims[n] + index;
    }
    return number;
}

Status
places_shape(Call *call, const Places *places, Shape *ret_shape)
{
    Shape shape = places->indices->shape;
    shape.rank -= places->is_nd ? 1 : 0;
    const int rest = places->shape->rank - (int)places->depth;
    if (shape.rank + rest > SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    memcpy(&shape.dims[shape.rank], &places->shape->dims[places->depth], (size_t)rest * sizeof *shape.dims);
    shape.rank += rest;
    *ret_shape = shape;
    return STATUS_OK;
}
