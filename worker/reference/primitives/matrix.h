/* Products of matrices and of batches of them, one element at a time.
 *
 * Each element is the sum over the inner dimension in ascending order, kept in double for floats and wrapping
 * for integers: the same bits whatever the batch, the block or the thread.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

bool matrix_supports(Dtype dtype);

/* output = op(a) × op(b), where op transposes the last two dimensions if asked for and the others broadcast.
 * All three have a rank of at least 2 and shapes that fit. */
void matrix_multiply(const Tensor *a, bool transposes_a, const Tensor *b, bool transposes_b, Tensor *output);
