/* A window that slides over a tensor's spatial dimensions, as kernels of convolutions and pools take it.
 * Valid C11 and C++. */
#pragma once

#include <stdint.h>

enum { CUDA_WINDOW_RANK_MAX = 4 };

/* Distances between neighbours in memory, in elements. */
typedef struct CudaSteps {
    int64_t batch;
    int64_t channel;
    int64_t space[CUDA_WINDOW_RANK_MAX];
} CudaSteps;

/* Entries from `rank` on are those of a dimension of size 1. */
typedef struct CudaWindow {
    int rank;
    int64_t batch;
    int64_t channels; /* of the output */
    int64_t input_size[CUDA_WINDOW_RANK_MAX];
    int64_t output_size[CUDA_WINDOW_RANK_MAX];
    int64_t size[CUDA_WINDOW_RANK_MAX];
    int64_t stride[CUDA_WINDOW_RANK_MAX];
    int64_t dilation[CUDA_WINDOW_RANK_MAX];
    int64_t before[CUDA_WINDOW_RANK_MAX]; /* padding in front, and behind */
    int64_t after[CUDA_WINDOW_RANK_MAX];
    CudaSteps input;
    CudaSteps output;
} CudaWindow;
