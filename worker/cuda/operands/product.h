/* Matrices of tensors, and batches of them that broadcast, as products take them.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"
#include "worker/cuda/kernels/product.h"

/* Returns a × b, each transposed in its last two dimensions if asked to, whose other dimensions broadcast; a
 * vector is one row on the left, one column on the right. The shapes fit. The output and what is done with
 * the product are the caller's to fill. */
CudaProduct operands_product(const Tensor *a, bool transposes_a, const Tensor *b, bool transposes_b);
