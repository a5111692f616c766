/* The start of a fused kernel. */
#pragma once

#include <cuda_runtime_api.h>

#include "worker/cuda/fusion/fused.h"

/* Enqueues the kernel, for more than 0 elements. Returns CUDA's error. */
int fusion_launch(cudaKernel_t kernel, const CudaFused *fused, cudaStream_t stream);
