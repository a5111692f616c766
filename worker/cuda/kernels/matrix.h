/* Square matrices in batches: factored, inverted and solved for. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CudaMatrixTask {
    CUDA_MATRIX_CHOLESKY,        /* the lower factor; NaN where a matrix is not positive definite */
    CUDA_MATRIX_DETERMINANT,     /* a number for each matrix */
    CUDA_MATRIX_LOG_DETERMINANT, /* its sign, and in `second` the logarithm of its size */
    CUDA_MATRIX_INVERSE,
    CUDA_MATRIX_SOLVE,
    CUDA_MATRIX_SOLVE_LOWER, /* for a triangle, of which the other is not read */
    CUDA_MATRIX_SOLVE_UPPER,
} CudaMatrixTask;

/* A block works on a matrix, in double and in the order of the reference kernels, in room of its own: `size`
 * × `size` numbers, as many as the right sides have, and `size` rows. */
typedef struct CudaSquares {
    const void *input;
    const void *right; /* [size, columns] for each matrix; NULL: unit matrices */
    void *output;
    void *second;
    int64_t count; /* of matrices */
    int64_t size;
    int64_t columns;
    bool is_transposed; /* the matrices are */
    int64_t abreast;    /* blocks, each of which takes every n-th matrix */
    double *work;
    double *solution;
    int64_t *rows;
    CudaBlame blame; /* for matrices that are not invertible */
} CudaSquares;

/* float32 and float64. */
int cuda_squares(CudaMatrixTask task, CudaType type, const CudaSquares *squares, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
