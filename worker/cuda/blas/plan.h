/* A product's descriptors in cuBLASLt, and the algorithm chosen for it.
 *
 * Threads: one at a time.
 * Errors:  the library's codes. */
#pragma once

#include "worker/cuda/blas/description.h"
#include "worker/cuda/libraries.h"

/* The library's part of a plan. */
typedef struct BlasPlan {
    BlasDescription description;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t left;
    cublasLtMatrixLayout_t right;
    cublasLtMatrixLayout_t c;
    cublasLtMatrixLayout_t output;
    cublasLtMatmulAlgo_t algorithm;
} BlasPlan;

/* Pointers into the card's memory. */
typedef struct BlasOperands {
    const void *left;
    const void *right;
    const void *c;    /* read when the description has_c */
    const void *bias; /* read when it has_bias */
    void *output;
    void *workspace;
    float alpha;
    float beta;
} BlasOperands;

/* Makes the descriptors, which needs no card; `ret_plan` is to be freed also after a failure. `bias` may be
 * NULL. */
MUST_USE cublasStatus_t blas_plan_describe(
    const CudaBlas *blas, const BlasDescription *description, const void *bias, BlasPlan *ret_plan);

/* Asks the library for the algorithm that it thinks fastest, among those that need at most this workspace and
 * whose sums have one order. CUBLAS_STATUS_NOT_SUPPORTED: it knows none. */
MUST_USE cublasStatus_t blas_plan_choose(
    const CudaBlas *blas, cublasLtHandle_t handle, size_t workspace_size, BlasPlan *plan);

/* Enqueues the product. */
MUST_USE cublasStatus_t blas_plan_run(const CudaBlas *blas, cublasLtHandle_t handle, const BlasPlan *plan,
    const BlasOperands *operands, size_t workspace_size, cudaStream_t stream);

void blas_plan_done(const CudaBlas *blas, BlasPlan *plan);
