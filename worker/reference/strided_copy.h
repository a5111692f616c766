/* Copies elements between two regular layouts: transposing, slicing, repeating, reversing and joining are
 * this copy with different strides.
 * Threads: any. */
#pragma once

#include "worker/runtime/device.h"

enum { STRIDED_RANK_MAX = 2 * SHAPE_RANK_MAX }; /* repeating takes two dimensions for each */

/* Element (i0, i1, …) goes from from_offset + Σ i × from to to_offset + Σ i × to, counted in elements.
 * Strides may be 0 (repeats) or negative (reverses). */
typedef struct StridedCopy {
    int rank;
    int64_t dims[STRIDED_RANK_MAX];
    int64_t from[STRIDED_RANK_MAX];
    int64_t to[STRIDED_RANK_MAX];
    int64_t from_offset;
    int64_t to_offset;
} StridedCopy;

/* Computes the row-major strides of a shape. */
void strides_dense(const Shape *shape, int64_t *ret_strides);

/* Both tensors have the same dtype, which is copyable. */
void strided_copy(const StridedCopy *copy, const Tensor *from, Tensor *to);

/* Does the same on all threads of the device. The parts must not be the same elements of the target. */
void strided_copy_share(Device *device, const StridedCopy *copy, const Tensor *from, Tensor *to);

/* Returns the copy back: from where this one goes to. */
StridedCopy strided_reverse(const StridedCopy *copy);

/* Drops dimensions of one element, and merges neighbours that are contiguous on both sides; one dimension is
 * left at least. Returns false when nothing is to be copied. */
MUST_USE bool strided_simplify(const StridedCopy *copy, StridedCopy *ret_copy);
