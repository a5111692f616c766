/* Products of matrices and of batches of them: by a plain kernel, which computes when cuBLASLt is missing or
 * refuses, or by whichever can. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/product.h"
#include "worker/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes each element as one chain of fused multiply-adds along the depth, in float for types of 16 bits:
 * the bits depend on nothing else. float16, bfloat16, float32, float64, int32 and int64; integers wrap. */
int cuda_multiply(CudaType type, const CudaProduct *product, cudaStream_t stream);

/* Multiplies in the context's lane: by cuBLASLt where it can, by cuda_multiply() everywhere else. The product
 * has no epilogue. */
MUST_USE Status matmul_enqueue(KernelContext *context, CudaType type, const CudaProduct *product);

#ifdef __cplusplus
}
#endif
