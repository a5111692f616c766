/* Products of matrices and of batches of them, by a plain kernel: what computes when cuBLASLt is missing or
 * refuses. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes each element as one chain of fused multiply-adds along the depth, in float for types of 16 bits:
 * the bits depend on nothing else. float16, bfloat16, float32, float64, int32 and int64; integers wrap. */
int cuda_multiply(CudaType type, const CudaProduct *product, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
