/* Conversion of numbers between dtypes, one by one.
 *
 * Floats to integers truncate; what is outside 64 bits saturates there, NaN gives 0, and narrower integers
 * keep the low bits. Integers to floats round to nearest even. To bool: whether it is not zero. Complex to
 * real drops the imaginary part.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

bool cast_supports(Dtype from, Dtype to);

/* `count` elements, one behind the other. */
void cast_elements(Dtype from, const void *input, Dtype to, void *output, int64_t count);

/* The same number of elements on both sides, of supported dtypes. */
void cast_tensor(const Tensor *input, Tensor *output);
