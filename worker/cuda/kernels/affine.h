/* Grids at which transformed images are sampled. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_AFFINE_SPACE_MAX = 3 };

/* Each image has a matrix of `space` rows and `space` + 1 columns, by which the points of its grid are
 * multiplied, whose last coordinate is 1. */
typedef struct CudaAffineGrid {
    const void *matrices;
    void *grid;
    int64_t count;  /* elements of the grid */
    int64_t points; /* of an image */
    int space;
    int64_t size[CUDA_AFFINE_SPACE_MAX]; /* of the grid, the last side first, as coordinates come */
    bool aligns_corners;
} CudaAffineGrid;

/* Floating types; computed in double, in the order of the columns. */
int cuda_affine_grid(CudaType type, const CudaAffineGrid *grid, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
