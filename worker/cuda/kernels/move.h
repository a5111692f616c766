/* Elements copied between two regular layouts, and filled with one value. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_MOVE_RANK_MAX = 32, CUDA_MOVE_SIDES = 2, CUDA_ELEMENT_MAX = 16 };

/* Element (i0, i1, …) goes from Σ i × strides[0] of `from` to Σ i × strides[1] of `to`, counted in elements.
 */
typedef struct CudaMove {
    const void *from; /* the element at the origin */
    void *to;
    int64_t count;
    int rank;
    int64_t sizes[CUDA_MOVE_RANK_MAX];
    int64_t strides[CUDA_MOVE_SIDES][CUDA_MOVE_RANK_MAX];
} CudaMove;

/* Elements of 1, 2, 4, 8 or 16 bytes; at least one. */
int cuda_move(size_t element_size, const CudaMove *move, cudaStream_t stream);

/* `element` is on the host. */
int cuda_fill(size_t element_size, const void *element, void *to, int64_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
