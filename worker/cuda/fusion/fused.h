/* What a fused kernel is given. Valid C11, C++ and what NVRTC compiles. */
#pragma once

#ifdef __CUDACC_RTC__
#include "worker/cuda/kernels/language.cuh"
#else
#include <stdint.h>
#endif

enum {
    CUDA_FUSED_INPUTS_MAX = 16,
    CUDA_FUSED_STEPS_MAX = 32,
    CUDA_FUSED_RANK_MAX = 16,
    CUDA_FUSED_PARAMETERS = 2,
};

/* Sizes are the output's, outermost first, merged where they can be. Strides count elements; 0 where an input
 * is broadcast. The output is dense, and may be an input that is dense as well. */
typedef struct CudaFused {
    const void *inputs[CUDA_FUSED_INPUTS_MAX];
    void *output;
    int64_t count;
    int64_t rank;
    int64_t sizes[CUDA_FUSED_RANK_MAX];
    int64_t strides[CUDA_FUSED_INPUTS_MAX][CUDA_FUSED_RANK_MAX];
    float parameters[CUDA_FUSED_STEPS_MAX][CUDA_FUSED_PARAMETERS];
} CudaFused;
