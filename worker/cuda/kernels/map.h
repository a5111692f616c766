/* The operands of a kernel that computes each element of its output from those of its inputs at the same
 * place. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

enum { CUDA_MAP_RANK_MAX = 16, CUDA_MAP_INPUTS_MAX = 3, CUDA_MAP_PARAMETERS_MAX = 2 };

/* Sizes are the output's, outermost first, merged where they can be. Strides count elements; 0 where an input
 * is broadcast. The output is dense, and may be an input that is dense as well. */
typedef struct CudaMap {
    const void *inputs[CUDA_MAP_INPUTS_MAX];
    void *output;
    int64_t count;
    int rank;
    int64_t sizes[CUDA_MAP_RANK_MAX];
    int64_t strides[CUDA_MAP_INPUTS_MAX][CUDA_MAP_RANK_MAX];
    float parameters[CUDA_MAP_PARAMETERS_MAX];
} CudaMap;
