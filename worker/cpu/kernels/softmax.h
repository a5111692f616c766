/* The softmax of float32 rows, for kernels that make scores of their own.
 * Threads: any. */
#pragma once

#include <stdint.h>

/* Makes the softmax of each of `rows` rows, which lie one behind the other, with the bits of the op's kernel.
 * The output may be the input. */
void softmax_rows(const float *x, float *z, int64_t rows, int64_t count);
