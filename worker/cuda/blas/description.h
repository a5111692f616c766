/* A product as cuBLASLt takes it. Row-major matrices are column-major ones transposed, and so is the product:
 * D = A × B is computed as Dᵀ = Bᵀ × Aᵀ, without a copy. The library's left operand is our right one.
 *
 * Threads: any. */
#pragma once

#include "worker/cuda/kernels/product.h"

/* The reason for which a product is left to the plain kernel. */
typedef enum BlasRefusal {
    BLAS_ACCEPTED,
    BLAS_NO_LIBRARY,
    BLAS_NO_HANDLE,    /* the library does not work with this card or driver */
    BLAS_NO_TYPE,      /* integers */
    BLAS_NO_SIZE,      /* empty, or past 31 bits */
    BLAS_NO_LAYOUT,    /* no dimension of a matrix is dense, or the batches have no common step */
    BLAS_NO_ADDEND,    /* Gemm's C is neither whole nor one number a column */
    BLAS_NO_ALGORITHM, /* the library knows none */
    BLAS_REFUSALS
} BlasRefusal;

/* A column-major matrix. */
typedef struct BlasMatrix {
    int64_t rows;
    int64_t columns;
    int64_t step;          /* between columns, in elements */
    int64_t batch_step;    /* between matrices of the batch; 0: one for all */
    int64_t is_transposed; /* before it is multiplied */
    int64_t alignment;     /* of its address, in bytes: the library chooses by it */
} BlasMatrix;

/* All by which the library chooses an algorithm. Compared byte by byte; without padding. */
typedef struct BlasDescription {
    int64_t type;     /* a CudaType */
    int64_t is_tf32;  /* float32 is multiplied in TF32: rounded to 11 bits of mantissa, summed in float32 */
    int64_t has_c;    /* a whole matrix */
    int64_t has_bias; /* one number a row of the library's product, which is a column of ours */
    int64_t bias_alignment;
    int64_t activation; /* a CudaActivation, of the sums with their bias */
    int64_t batch;
    BlasMatrix left;
    BlasMatrix right;
    BlasMatrix c; /* as `output` when there is none */
    BlasMatrix output;
} BlasDescription;

/* Describes a product, one of float32 in TF32 where that is allowed; `ret_rest` gets the steps of its
 * epilogue that the library does not compute. The results mean nothing unless it is BLAS_ACCEPTED. */
BlasRefusal blas_describe(CudaType type, bool allows_tf32, const CudaProduct *product,
    BlasDescription *ret_description, CudaEpilogue *ret_rest);

/* Adds the activation of the steps that are left, if the library has one of that name and it is all that is
 * left. Returns the steps that are left then. */
CudaEpilogue blas_fuse(const CudaEpilogue *rest, BlasDescription *description);
