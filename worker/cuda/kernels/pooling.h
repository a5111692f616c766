/* Largest and mean values within windows. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"
#include "worker/cuda/kernels/window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaPool {
    CudaWindow window;
    const void *input;
    void *output;
    int64_t *indices;     /* positions of the largest values, or NULL */
    int64_t plane;        /* elements of one channel */
    bool is_column_major; /* whether indices count columns first within a plane */
    bool counts_padding;
    int64_t p; /* of a norm */
} CudaPool;

/* Padding has no value: it is neither the largest nor counted, unless counts_padding says so. The first of
 * several largest values is the one that is found; NaN is larger than all numbers. Floating types and
 * integers. */
int cuda_pool_largest(CudaType type, const CudaPool *pool, cudaStream_t stream);

/* Floating types. */
int cuda_pool_mean(CudaType type, const CudaPool *pool, cudaStream_t stream);

/* The p-th root of the sum of the absolute values' p-th powers; padding counts as 0. Floating types. */
int cuda_pool_norm(CudaType type, const CudaPool *pool, cudaStream_t stream);

/* The way in which a pool's gradient goes back to the elements of its windows: all of it to the first largest
 * one (a number, unless the first of all is NaN), all to each of those that are equal to the largest number,
 * or equal parts to all. */
typedef enum CudaPoolShare {
    CUDA_POOL_FIRST_LARGEST,
    CUDA_POOL_EVERY_LARGEST,
    CUDA_POOL_EVENLY
} CudaPoolShare;

typedef struct CudaPoolGradient {
    CudaWindow window; /* without dilation */
    const void *image; /* not read where all have equal parts */
    const void *gradients;
    void *largest; /* room for an int64_t, or an element, for each window; not used where all have equal parts
                    */
    void *output;
} CudaPoolGradient;

/* Floating types. */
int cuda_pool_gradient(
    CudaPoolShare share, CudaType type, const CudaPoolGradient *gradient, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
