/* Products by cuBLASLt. What it cannot or will not compute is left to the plain kernel (kernels/matmul.h),
 * and counted by reason.
 *
 * Threads: the one whose turn the lane is; blas_refusals() by any.
 * Errors:  RESOURCE_EXHAUSTED without memory for plans or the workspace; those of cuda_check(). */
#pragma once

#include "worker/cuda/blas/description.h"
#include "worker/runtime/kernel.h"

/* Multiplies in the context's lane. BLAS_ACCEPTED in `ret_refusal`: it is enqueued, and `ret_rest` has the
 * steps of the epilogue that are still to be computed; otherwise nothing is. */
MUST_USE Status blas_multiply(KernelContext *context, CudaType type, const CudaProduct *product,
    BlasRefusal *ret_refusal, CudaEpilogue *ret_rest);

/* Returns how many products were left to the plain kernel for this reason; those that were not for
 * BLAS_ACCEPTED. */
uint64_t blas_refusals(BlasRefusal refusal);
