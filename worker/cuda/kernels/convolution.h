/* Convolutions in one to four spatial dimensions, by plain kernels: what computes when cuDNN is missing or
 * refuses. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes each element as one chain of fused multiply-adds over the filter's positions in row-major order
 * and within them over the input channels, in float for types of 16 bits: the bits depend on nothing else.
 * Padding counts as zeros: under it a weight that is infinite gives NaN. Floating types. */
int cuda_convolve(CudaType type, const CudaConvolution *convolution, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
