/* NumPy's .npy files (NEP 1, versions 1 to 3): little-endian, C order. Fortran order is turned on reading.
 * Errors: INVALID_ARGUMENT says which part of the header is wrong; UNIMPLEMENTED for dtypes we do not have.
 */
#pragma once

#include "shared/tensor/tensor.h"

/* Copies the elements; `bytes` is the whole file. */
MUST_USE Status npy_read(Call *call, Slice bytes, size_t byte_size_max, Tensor *ret_tensor);

/* Only the header (a multiple of 64 bytes); the elements follow as they lie in memory.
 * UNIMPLEMENTED for string and bfloat16 tensors. */
MUST_USE Status npy_write_header(Call *call, const Tensor *tensor, Buffer *buffer);
