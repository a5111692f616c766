/* Singular values of matrices in batches. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A wide matrix is decomposed as its transpose, with the bases exchanged. A block works on a matrix, in
 * double and by the reference kernel's rotations, in room of its own: cuda_svd_room() numbers. */
typedef struct CudaSvd {
    const void *input;
    void *values;  /* `columns` for each matrix */
    void *longer;  /* the basis of `rows` rows: `basis` columns; NULL: no bases are wanted */
    void *shorter; /* the basis of `columns` rows and columns */
    int64_t count; /* of matrices */
    int64_t rows;  /* no less than the columns; of the matrix or of its transpose */
    int64_t columns;
    int64_t basis; /* no less than the columns */
    bool is_turned;
    int64_t abreast; /* blocks, each of which takes every n-th matrix */
    double *room;
} CudaSvd;

static inline int64_t
cuda_svd_room(const CudaSvd *svd)
{
    int64_t pairs = svd->columns / 2 + 1;
    return svd->rows * svd->basis + svd->columns * svd->columns + svd->columns + svd->rows + 5 * pairs;
}

/* float32 and float64. */
int cuda_svd(CudaType type, const CudaSvd *svd, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
