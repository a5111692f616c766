/* The parts of a tensor that indices name: rows by number, or slices by coordinates (the last dimension of
 * the indices).
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for indices outside the tensor. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct Positions {
    const Shape *shape;    /* of the tensor */
    const Tensor *indices; /* all are inside the tensor */
    int64_t count;
    int64_t depth; /* coordinates of a part */
    int64_t inner; /* elements of a part */
    bool is_nd;
} Positions;

/* `shape` and `indices` must outlive `ret_positions`. */
MUST_USE Status positions_find(
    Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Positions *ret_positions);

/* Returns the offset of a part, in units of `inner` elements. */
int64_t positions_at(const Positions *positions, int64_t position);

/* Computes the shape of all parts together. */
MUST_USE Status positions_shape(Call *call, const Positions *positions, Shape *ret_shape);
