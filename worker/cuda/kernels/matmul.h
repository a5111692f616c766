/* Products of matrices and of batches of them, by a plain kernel: what computes when cuBLASLt is missing or
 * refuses. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/epilogue.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* Computes each element as one chain of fused multiply-adds along the depth, in float for types of 16 bits:
 * the bits depend on nothing else. float16, bfloat16, float32, float64, int32 and int64; integers wrap. */
int cuda_multiply(CudaType type, const CudaProduct *product, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
