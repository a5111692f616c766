/* Sparse tensors as TensorFlow hands them around: the indices [n, rank] of their elements, the elements [n],
 * and the shape of the whole.
 *
 * Threads: any; one element list, one thread.
 * Errors:  INVALID_ARGUMENT when the three do not fit; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/kernel.h"

typedef struct Sparse {
    const int64_t *places; /* element n lies at places[n × rank …] */
    const Tensor *values;
    int64_t count;
    Shape shape;
} Sparse;

/* Of a running kernel: what inputs `indices`, `values` and `shape` are together; every element lies inside.
 */
MUST_USE Status sparse_read(
    KernelContext *context, uint32_t indices, uint32_t values, uint32_t shape, Sparse *ret_sparse);

static inline const int64_t *
sparse_place(const Sparse *sparse, int64_t n)
{
    return sparse->places + n * sparse->shape.rank;
}

/* Elements of other tensors at new places, in the order they are added. */
typedef struct SparseResult {
    int rank;
    Buffer places;   /* int64_t, `rank` each */
    Buffer elements; /* where each comes from */
} SparseResult;

/* An empty one. */
SparseResult sparse_result(const KernelContext *context, int rank);
void sparse_add(SparseResult *result, const int64_t *place, const Tensor *values, int64_t index);

/* By the first `dimensions` coordinates of their places; those alike stay in their order. */
MUST_USE Status sparse_sort(KernelContext *context, SparseResult *result, int dimensions);

/* Output `index` the indices, the next one the elements. */
MUST_USE Status sparse_finish(KernelContext *context, uint32_t index, const SparseResult *result);
void sparse_result_done(SparseResult *result);
#define AUTO_SPARSE_RESULT CLEANUP(sparse_result_done) SparseResult

/* Output `index`: a vector of integers, as shapes are given. */
MUST_USE Status sparse_shape_output(KernelContext *context, uint32_t index, const Shape *shape);
