/* Where indices point to in a tensor: rows by number, or slices by coordinates (the last dimension of the
 * indices).
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for indices that point outside. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct Places {
    const Shape *shape;    /* of the tensor */
    const Tensor *indices; /* every one lies inside */
    int64_t count;
    int64_t depth; /* coordinates a place */
    int64_t inner; /* elements at one place */
    bool is_nd;
} Places;

/* `shape` and `indices` must outlive the places. */
MUST_USE Status places_find(
    Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Places *ret_places);

/* The place's number, in units of `inner` elements. */
int64_t places_at(const Places *places, int64_t place);

/* The shape of what lies at all places together. */
MUST_USE Status places_shape(Call *call, const Places *places, Shape *ret_shape);
