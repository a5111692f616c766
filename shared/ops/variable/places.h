/* The parts of a tensor that indices name: rows by number, or slices by coordinates (the last dimension of
 * the indices).
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for indices outside the tensor. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct Places {
    const Shape *shape;    /* of the tensor */
    const Tensor *indices; /* all are inside the tensor */
    int64_t count;
    int64_t depth; /* coordinates of a part */
    int64_t inner; /* elements of a part */
    bool is_nd;
} Places;

/* `shape` and `indices` must outlive `ret_places`. */
MUST_USE Status places_find(
    Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Places *ret_places);

/* Returns the offset of a part, in units of `inner` elements. */
int64_t places_at(const Places *places, int64_t place);

/* Computes the shape of all parts together. */
MUST_USE Status places_shape(Call *call, const Places *places, Shape *ret_shape);
