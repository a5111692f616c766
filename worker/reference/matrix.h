/* Products of matrices and of batches of them, one element at a time.
 *
 * Each element is the sum over the inner dimension in ascending order, kept in double for floats and
 * wrapping for integers: the bits do not depend on the batch, the block or the thread.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

/* A matrix in memory; steps count elements. */
typedef struct MatrixView {
    const void *data;
    int64_t row_step;
    int64_t column_step;
} MatrixView;

typedef struct MatrixProduct {
    MatrixView a;
    MatrixView b;
    void *output; /* dense */
    int64_t rows;
    int64_t columns;
    int64_t depth;
} MatrixProduct;

bool matrix_supports(Dtype dtype);

/* Computes output = op(a) × op(b), where op transposes the last two dimensions if asked to and the others
 * broadcast. All three have a rank of at least 2 and shapes that fit. */
void matrix_multiply(const Tensor *a, bool transposes_a, const Tensor *b, bool transposes_b, Tensor *output);

/* Does the same as matrix_multiply(), with the caller's function for the product of two matrices. */
void matrix_multiply_by(void (*multiply)(const void *context, const MatrixProduct *product),
    const void *context, const Tensor *const inputs[2], const bool transposes[2], Tensor *output);

/* Returns which of the input's matrices, counted from 0, belongs to the output's matrix `index`, when all
 * dimensions but the last two broadcast. An input of a lower rank is one matrix. */
int64_t matrix_of_batch(const Shape *input, const Shape *output, int64_t index);
