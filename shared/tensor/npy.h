/* Reads and writes NumPy's .npy files (NEP 1, versions 1 to 3): little-endian, in C order; Fortran order
 * is reordered.
 *
 * Errors: INVALID_ARGUMENT says which part of the header is wrong; UNIMPLEMENTED for dtypes without a
 * Dtype. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/tensor/tensor.h"

/* Reads a whole file and copies its elements. */
MUST_USE Status npy_read(Call *call, Slice bytes, size_t byte_size_max, Tensor *ret_tensor);

/* Reads the header of a file that comes in pieces. A zeroed head is ready; it is complete when `described`
 * has a dtype. */
typedef struct NpyHead {
    Buffer bytes;     /* of the header, as far as it has come */
    Tensor described; /* dtype and shape; no elements */
    bool is_fortran;
} NpyHead;

/* Takes from the piece what the header lacks. RESOURCE_EXHAUSTED for more than `byte_size_max` bytes of
 * elements. */
MUST_USE Status npy_head_write(Call *call, NpyHead *head, Slice *piece, size_t byte_size_max);
MUST_USE Status npy_head_end(Call *call, const NpyHead *head); /* fails while the header is not complete */
void npy_head_done(NpyHead *head);

/* Reads a file that comes in pieces. The elements go straight into the tensor that will hold them, so that
 * they are never held twice, except in Fortran order, which is reordered at the end. A zeroed reader is
 * ready. */
typedef struct NpyReader {
    NpyHead head;
    Tensor tensor; /* once the header is complete */
    size_t filled; /* bytes of elements that have arrived */
} NpyReader;

void npy_reader_done(NpyReader *reader);
MUST_USE Status npy_reader_write(Call *call, NpyReader *reader, Slice piece, size_t byte_size_max);

/* Ends the file; the reader is empty again. */
MUST_USE Status npy_reader_end(Call *call, NpyReader *reader, Tensor *ret_tensor);

/* Checks a file that comes in pieces as a reader would, and keeps nothing of it. A zeroed check is ready. */
typedef struct NpyCheck {
    NpyHead head;
    size_t seen; /* bytes of elements */
} NpyCheck;

void npy_check_done(NpyCheck *check);
MUST_USE Status npy_check_write(Call *call, NpyCheck *check, Slice piece, size_t byte_size_max);
MUST_USE Status npy_check_end(Call *call, const NpyCheck *check); /* check->head.described is sound then */

/* Writes the header only, a multiple of 64 bytes; the elements follow as they lie in memory. UNIMPLEMENTED
 * for string and bfloat16 tensors. */
MUST_USE Status npy_write_header(Call *call, const Tensor *tensor, Buffer *buffer);
