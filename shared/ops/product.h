/* Shapes of products of matrices, and of batches of them that broadcast.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when the inner dimensions differ or the batches do not broadcast. */
#pragma once

#include "shared/graph/graph.h"

/* The last two dimensions of a matrix, as it stands or transposed; -1 is unknown. */
typedef struct MatrixSize {
    int64_t rows;
    int64_t columns;
} MatrixSize;

/* `shape` has a rank of at least 2. */
MatrixSize matrix_size(const Shape *shape, bool is_transposed);

/* The products of all matrices of the batches `x` and `y`, which are of rank 2 or more and whose matrices
 * have these sizes (after transposing, if the op does). */
MUST_USE Status product_of_sizes(Call *call, const Shape *x, const Shape *y, const MatrixSize *left,
    const MatrixSize *right, Shape *ret_result);

/* The same for matrices that are not transposed. */
MUST_USE Status product_of_shapes(Call *call, const Shape *x, const Shape *y, Shape *ret_result);
