/* NumPy's .npy files (NEP 1, versions 1 to 3): little-endian, C order. Fortran order is turned on reading.
 * Errors: INVALID_ARGUMENT says which part of the header is wrong; UNIMPLEMENTED for dtypes we do not have.
 */
#pragma once

#include "shared/base/buffer.h"
#include "shared/tensor/tensor.h"

/* Copies the elements; `bytes` is the whole file. */
MUST_USE Status npy_read(Call *call, Slice bytes, size_t byte_size_max, Tensor *ret_tensor);

/* A file that comes in pieces: its elements go straight into the tensor that will hold them, so that they are
 * never held twice (but for Fortran order, which is turned at the end). A zeroed reader is ready. */
typedef struct NpyReader {
    Buffer header; /* until it is whole */
    Tensor tensor; /* from then on */
    size_t filled; /* bytes of its elements */
    bool is_fortran;
} NpyReader;

void npy_reader_done(NpyReader *reader);
MUST_USE Status npy_reader_write(Call *call, NpyReader *reader, Slice piece, size_t byte_size_max);

/* The file has ended; the reader is empty again. */
MUST_USE Status npy_reader_end(Call *call, NpyReader *reader, Tensor *ret_tensor);

/* Only the header (a multiple of 64 bytes); the elements follow as they lie in memory.
 * UNIMPLEMENTED for string and bfloat16 tensors. */
MUST_USE Status npy_write_header(Call *call, const Tensor *tensor, Buffer *buffer);
