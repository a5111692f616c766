/* Conversion of numbers between dtypes, element by element.
 *
 * Floats to integers truncate. What an integer cannot hold becomes what TensorFlow's vector instructions on
 * x86 make of it, on every processor: NaN and numbers outside 32 bits become the lowest int32 or 2^31 as
 * uint32, those outside 64 bits the lowest int64 or 2^63 as uint64. Integers of 8 and 16 bits keep the low
 * bits of an int32 (TensorFlow lets some of a tensor's elements saturate instead). Integers to floats round
 * to nearest even. A bool is true unless the number is zero. Complex to real drops the imaginary part.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

bool cast_supports(Dtype from, Dtype to);

/* Converts `count` contiguous elements. */
void cast_elements(Dtype from, const void *input, Dtype to, void *output, int64_t count);

/* Both tensors have the same number of elements, of supported dtypes. */
void cast_tensor(const Tensor *input, Tensor *output);
