/* Groups of elements that are divided by a statistic of their own. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CudaNormKind {
    CUDA_NORM_ROOT_MEAN_SQUARE,   /* x / √(mean of x² + ε) */
    CUDA_NORM_VARIANCE,           /* (x - mean) / √(variance + ε) */
    CUDA_NORM_STANDARD_DEVIATION, /* (x - mean) / (√variance + ε) */
    CUDA_NORM_SUM,                /* x / Σ |x|, 0 where that is 0 */
    CUDA_NORM_LENGTH,             /* x / √Σ x², 0 where that is 0 */
} CudaNormKind;

/* Each of `groups` groups has `count` elements, at its own place by `kept`, and from there on by `folded`.
 * Scale and bias have strides in a view of the tensor, of these sizes. */
typedef struct CudaNorm {
    CudaNormKind kind;
    const void *input;
    const void *scale; /* NULL: 1 */
    const void *bias;  /* NULL: 0 */
    void *output;
    int64_t groups;
    int64_t count;
    CudaDimensions kept;
    CudaDimensions folded;
    bool is_scaled_along; /* element i of each group has element i of the scale and of the bias */
    int rank;
    int64_t sizes[CUDA_ROWS_RANK_MAX];
    int64_t strides[1][CUDA_ROWS_RANK_MAX];
    double epsilon;
} CudaNorm;

/* Floating types. */
int cuda_norm(CudaType type, const CudaNorm *norm, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
