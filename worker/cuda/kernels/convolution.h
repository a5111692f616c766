/* Convolutions in one to four spatial dimensions, by plain kernels: what computes when cuDNN is missing or
 * refuses. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/filter.h"
#include "worker/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes each element as one chain of fused multiply-adds over the filter's positions in row-major order
 * and within them over the input channels, in float for types of 16 bits: the bits depend on nothing else.
 * Padding counts as zeros: under it a weight that is infinite gives NaN. Floating types. */
int cuda_convolve(CudaType type, const CudaConvolution *convolution, cudaStream_t stream);

/* Convolves int32, whose sums wrap; there is no epilogue. */
int cuda_convolve_integers(const CudaConvolution *convolution, cudaStream_t stream);

/* Convolves in the context's lane: by cuDNN where it can, by cuda_convolve() everywhere else. The output is
 * the convolution's. */
MUST_USE Status convolution_enqueue(
    KernelContext *context, const CudaConvolution *convolution, const Tensor *output);

#ifdef __cplusplus
}
#endif
