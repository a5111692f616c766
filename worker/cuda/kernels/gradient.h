/* Convolutions backwards, by plain kernels. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compute the gradient of the image, or of the filter, from the other one of the two and from that of the
 * output, which is in the place of the output; the epilogue is ignored. Each element is one chain of fused
 * multiply-adds (image: over the filter's positions, within them over the output channels) or one tree of
 * them (filter: over batches and output positions), in float for types of 16 bits. Floating types. */
int cuda_convolve_to_image(
    CudaType type, const CudaConvolution *convolution, void *image, cudaStream_t stream);
int cuda_convolve_to_filter(
    CudaType type, const CudaConvolution *convolution, void *filter, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
