/* Sparse tensors in TensorFlow's form: the indices [n, rank] of their elements, the elements [n], and the
 * dense shape.
 *
 * Threads: any; one element list, one thread.
 * Errors:  INVALID_ARGUMENT when the three do not fit; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/kernel.h"

typedef struct Sparse {
    const int64_t *positions; /* the coordinates of element n begin at n × rank */
    const Tensor *values;
    int64_t count;
    Shape shape;
} Sparse;

/* Reads a sparse tensor from the inputs `indices`, `values` and `shape` of a running kernel; every element
 * is inside. */
MUST_USE Status sparse_read(
    KernelContext *context, uint32_t indices, uint32_t values, uint32_t shape, Sparse *ret_sparse);

static inline const int64_t *
sparse_position(const Sparse *sparse, int64_t n)
{
    return sparse->positions + n * sparse->shape.rank;
}

/* Elements of other tensors at new coordinates, in the order they are added. */
typedef struct SparseResult {
    int rank;
    Buffer positions; /* int64_t: `rank` coordinates for each element */
    Buffer elements;  /* the element that each one copies */
} SparseResult;

/* Returns an empty result. */
SparseResult sparse_result(const KernelContext *context, int rank);
void sparse_add(SparseResult *result, const int64_t *position, const Tensor *values, int64_t index);

/* Sorts by the first `dimensions` coordinates; elements equal in them keep their order. */
MUST_USE Status sparse_sort(KernelContext *context, SparseResult *result, int dimensions);

/* Makes output `index` from the indices, and the next one from the elements. */
MUST_USE Status sparse_finish(KernelContext *context, uint32_t index, const SparseResult *result);
void sparse_result_done(SparseResult *result);
#define AUTO_SPARSE_RESULT CLEANUP(sparse_result_done) SparseResult

/* Makes output `index`, a vector of integers: a shape as a tensor. */
MUST_USE Status sparse_shape_output(KernelContext *context, uint32_t index, const Shape *shape);
