/* Numbers in the widest dtype of their class, and slices combined into each other: the means of sums,
 * products and extremes over chosen slices (segments, scatters). Floats are combined in double and rounded
 * once, at the end; integers wrap.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

typedef enum WideCombination {
    WIDE_REPLACE,
    WIDE_ADD,
    WIDE_SUBTRACT,
    WIDE_MULTIPLY,
    WIDE_MINIMUM, /* what is there stays unless the new number is beyond it: NaN stays, and never comes */
    WIDE_MAXIMUM,
    WIDE_NEWER_MINIMUM, /* the new number comes unless what is there is beyond it: NaN comes, and never stays
                         */
    WIDE_NEWER_MAXIMUM,
    WIDE_COUNT,
} WideCombination;

/* float64, int64, uint64 or complex128; DTYPE_INVALID for others. */
Dtype wide_dtype(Dtype dtype);

/* False for extremes of complex numbers, which have no order. */
bool wide_supports(WideCombination combination, Dtype dtype);

/* Combines from[n] into into[n], of a wide dtype. */
void wide_combine(WideCombination combination, Dtype wide, void *into, const void *from, int64_t count);

/* Fills a tensor of a wide dtype with the neutral element of a combination: 0, 1, or the largest or lowest
 * finite number of `dtype`, to which the tensor is converted in the end. */
void wide_fill_neutral(WideCombination combination, Dtype dtype, Tensor *wide);

/* Divides by a positive number; integers truncate. */
void wide_divide(Dtype wide, void *values, double divisor, int64_t count);
