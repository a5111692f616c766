/* Convolutions in one to four spatial dimensions, by plain kernels: what computes when cuDNN is missing or
 * refuses. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/epilogue.h"
#include "worker/cuda/kernels/types.h"
#include "worker/cuda/kernels/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Distances between neighbours in a filter, in elements. */
typedef struct CudaFilter {
    int64_t group;
    int64_t output;
    int64_t input;
    int64_t space[CUDA_WINDOW_RANK_MAX];
} CudaFilter;

typedef struct CudaConvolution {
    CudaWindow window;
    CudaFilter filter_steps;
    int64_t groups;
    int64_t inputs;  /* channels of one group */
    int64_t outputs; /* of one group */
    const void *input;
    const void *filter;
    void *output;
    CudaEpilogue epilogue;
} CudaConvolution;

/* Computes each element as one chain of fused multiply-adds over the filter's positions in row-major order
 * and within them over the input channels, in float for types of 16 bits: the bits depend on nothing else.
 * Padding counts as zeros: under it a weight that is infinite gives NaN. Floating types. */
int cuda_convolve(CudaType type, const CudaConvolution *convolution, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
