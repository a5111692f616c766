/* Shapes of products of matrices, and of batches of matrices that broadcast.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when the inner dimensions differ or the batches do not broadcast. */
#pragma once

#include "shared/graph/graph.h"

/* The last two dimensions of a matrix, as it is or transposed; -1 is unknown. */
typedef struct MatrixSize {
    int64_t rows;
    int64_t columns;
} MatrixSize;

/* `shape` has a rank of at least 2. */
MatrixSize matrix_size(const Shape *shape, bool is_transposed);

/* The shape of the products of all matrices of the batches `x` and `y`, which have a rank of 2 or more.
 * `left` and `right` are the sizes of their matrices, after the op's transposing. */
MUST_USE Status product_of_sizes(Call *call, const Shape *x, const Shape *y, const MatrixSize *left,
    const MatrixSize *right, Shape *ret_result);

/* Does the same as product_of_sizes() for matrices that are not transposed. */
MUST_USE Status product_of_shapes(Call *call, const Shape *x, const Shape *y, Shape *ret_result);
