/* A check that the activation which cuBLASLt computes behind a product is the one of Sluice's own kernel.
 * NVIDIA says neither whether its ReLU hands a NaN on nor how near its GELU comes to that by tanh, so the
 * library itself is asked: two products of known numbers, one with the activation and one with Sluice's
 * kernel behind it, are compared.
 *
 * Threads: in a lane's turn, in which nothing is captured; the call waits for the card.
 * Errors:  RESOURCE_EXHAUSTED when the library has no memory; those of cuda_check(). */
#pragma once

#include <cuda_runtime_api.h>

#include "shared/base/call.h"
#include "worker/cuda/blas/description.h"
#include "worker/cuda/libraries.h"

/* The activation that is asked about, and where it is computed. */
typedef struct BlasQuestion {
    const CudaBlas *blas;
    cublasLtHandle_t handle;
    void *workspace;
    size_t workspace_size;
    cudaStream_t stream;
    CudaType type;             /* FLOAT16, BFLOAT16 or FLOAT32 */
    bool is_tf32;              /* FLOAT32 is multiplied so */
    CudaActivation activation; /* RELU or GELU_TANH */
} BlasQuestion;

/* `ret_is_equal` is true when ReLUs have the same numbers, NaN and infinities among them, and GELUs differ by
 * their rounding alone; false also when the library refuses. */
MUST_USE Status blas_activation_check(Call *call, const BlasQuestion *question, bool *ret_is_equal);
