/* A product of matrices, or of batches of them, as the plain kernel and cuBLASLt take it. Valid C11 and C++.
 */
#pragma once

#include "worker/cuda/kernels/epilogue.h"
#include "worker/cuda/kernels/types.h"

enum { CUDA_BATCH_RANK_MAX = 14 };

/* Matrices in memory: steps count elements, and are 0 where the matrix, or the batch, is broadcast. */
typedef struct CudaMatrix {
    const void *data; /* NULL: absent, or without elements */
    int64_t row_step;
    int64_t column_step;
    int64_t batch_steps[CUDA_BATCH_RANK_MAX];
} CudaMatrix;

/* output = epilogue(alpha × a × b + beta × c), for every matrix of a batch. */
typedef struct CudaProduct {
    CudaMatrix a;
    CudaMatrix b;
    CudaMatrix c;
    void *output; /* dense */
    int64_t rows;
    int64_t columns;
    int64_t depth; /* 0: the products are 0 */
    int64_t batch_sizes[CUDA_BATCH_RANK_MAX];
    int batch_rank; /* 0: one matrix */
    float alpha;
    float beta;
    CudaEpilogue epilogue; /* channels are columns; only of floats */
} CudaProduct;
