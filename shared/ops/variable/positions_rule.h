/* The parts of a tensor that indices name: rows by number, or slices by coordinates (the last dimension of
 * the indices). All but positions_find() and positions_at() look at shapes alone.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for shapes that do not fit and for indices outside the tensor. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct Positions {
    const Shape *shape; /* of the tensor */
    const Tensor *indices;
    int64_t count;
    int64_t depth; /* coordinates of a part */
    int64_t inner; /* elements of a part */
    bool is_nd;
} Positions;

/* `shape` and `indices` must outlive `ret_positions`. */
MUST_USE Status positions_describe(
    Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Positions *ret_positions);

/* Does the same, and checks that all indices are inside the tensor. */
MUST_USE Status positions_find(
    Call *call, const Shape *shape, const Tensor *indices, bool is_nd, Positions *ret_positions);

/* Returns the offset of a part, in units of `inner` elements. */
int64_t positions_at(const Positions *positions, int64_t position);

/* Computes the shape of all parts together. */
MUST_USE Status positions_shape(Call *call, const Positions *positions, Shape *ret_shape);

/* Checks that every part has an update or, where indices are numbers of rows, one scalar serves all. */
MUST_USE Status positions_check_updates(Call *call, const Positions *positions, const Tensor *updates);
