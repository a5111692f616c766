/* Rows of a tensor, taken along an axis by indices that kernels of the card have made. */
#pragma once

#include "worker/reference/scratch.h"

/* Writes the `count` rows of each of these lines of `from` that the int64 `indices` name, all of which are
 * within them. */
MUST_USE Status cuda_take_rows(const KernelContext *context, const Tensor *from, const Lines *lines,
    const Tensor *indices, int64_t count, const Tensor *to);
