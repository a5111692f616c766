/* Elements that a rule for their places moves: borders that repeat the tensor's own elements, and bands of
 * matrices. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_BORDER_RANK_MAX = 16 };

typedef enum CudaBorderMode {
    CUDA_BORDER_REFLECT,   /* mirrored without the element at the edge */
    CUDA_BORDER_SYMMETRIC, /* mirrored with it */
    CUDA_BORDER_EDGE,
    CUDA_BORDER_WRAP,
} CudaBorderMode;

/* Position p of a dimension of the output is p - before of the input's, where that has one. */
typedef struct CudaBorder {
    const void *from;
    void *to;
    int64_t count; /* of all elements of the output */
    CudaBorderMode mode;
    int rank;
    int64_t sizes[CUDA_BORDER_RANK_MAX]; /* of the output */
    int64_t before[CUDA_BORDER_RANK_MAX];
    int64_t inner[CUDA_BORDER_RANK_MAX]; /* sizes of the input */
    int64_t strides[CUDA_BORDER_RANK_MAX];
} CudaBorder;

/* Matrices of which elements are zero that lie more than `lower` below the diagonal, or more than `upper`
 * above it; a width below 0 leaves out diagonals on the other side, INT64_MAX leaves out none. */
typedef struct CudaBand {
    const void *from;
    void *to;
    int64_t count; /* of all elements */
    int64_t rows;
    int64_t columns;
    int64_t lower;
    int64_t upper;
} CudaBand;

/* Elements of 1, 2, 4, 8 or 16 bytes. */
int cuda_border(size_t element_size, const CudaBorder *border, cudaStream_t stream);
int cuda_band(size_t element_size, const CudaBand *band, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
