/* A filter, and the convolution with it, as the plain kernel and cuDNN take them. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/epilogue.h"
#include "worker/cuda/kernels/types.h"
#include "worker/cuda/kernels/window.h"

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
