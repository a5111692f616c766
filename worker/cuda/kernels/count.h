/* Elements counted and ranked: the inverse of a permutation, a histogram. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

/* inverse[places[n]] = n. */
typedef struct CudaPermutation {
    CudaIndices places;
    void *inverse; /* of the places' type */
    int64_t count;
    int64_t *firsts; /* room for as many: which element has a place first */
} CudaPermutation;

/* Refuses an element that is no place, and one whose place an earlier element has. */
int cuda_invert(const CudaPermutation *permutation, const CudaBlame *blame, cudaStream_t stream);

/* How many values lie in each of the bins of equal width between two ends; what lies outside counts for the
 * first or the last bin. */
typedef struct CudaHistogram {
    const void *values;
    const void *ends; /* two, of the values' type */
    int64_t count;
    void *bins; /* zeros, to which is added */
    int64_t bin_count;
    bool is_wide; /* bins are int64, else int32 */
} CudaHistogram;

/* Floating types and integers; places are computed in double. Refuses ends that do not ascend. */
int cuda_histogram(
    CudaType type, const CudaHistogram *histogram, const CudaBlame *blame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
