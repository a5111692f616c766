/* Sums of products over indices. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_EINSUM_RANK_MAX = 16, CUDA_EINSUM_OPERANDS_MAX = 8, CUDA_EINSUM_POSITIONS_MAX = 9 };

/* Sizes outermost first. Strides count elements, of each operand and, in the last place, of the output. */
typedef struct CudaEinsumIndices {
    int rank;
    int64_t sizes[CUDA_EINSUM_RANK_MAX];
    int64_t strides[CUDA_EINSUM_POSITIONS_MAX][CUDA_EINSUM_RANK_MAX];
} CudaEinsumIndices;

typedef struct CudaEinsum {
    int operand_count;
    const void *operands[CUDA_EINSUM_OPERANDS_MAX];
    void *output;
    int64_t result_count; /* sums; of an output with a diagonal only that is written */
    int64_t count;        /* products that a sum has; may be 0 */
    CudaEinsumIndices kept;
    CudaEinsumIndices folded;
} CudaEinsum;

/* Floats are multiplied and summed in float, or as float64 themselves; integers wrap. */
int cuda_einsum(CudaType type, const CudaEinsum *einsum, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
