/* Conversion of numbers between dtypes, element by element.
 *
 * Floats to integers truncate; values outside 64 bits saturate there, NaN gives 0, and narrower integers
 * keep the low bits. Integers to floats round to nearest even. A bool is true unless the number is zero.
 * Complex to real drops the imaginary part.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

bool cast_supports(Dtype from, Dtype to);

/* Converts `count` contiguous elements. */
void cast_elements(Dtype from, const void *input, Dtype to, void *output, int64_t count);

/* Both tensors have the same number of elements, of supported dtypes. */
void cast_tensor(const Tensor *input, Tensor *output);
