/* The numbers of cuBLASLt that worker/cuda/cublaslt.h declares, as NVIDIA's header has them. */
#pragma once

#include <stddef.h>

#define CUBLASLT_NUMBERS(X)                                                                                  \
    X(CUBLAS_STATUS_SUCCESS)                                                                                 \
    X(CUBLAS_STATUS_NOT_INITIALIZED)                                                                         \
    X(CUBLAS_STATUS_ALLOC_FAILED)                                                                            \
    X(CUBLAS_STATUS_INVALID_VALUE)                                                                           \
    X(CUBLAS_STATUS_ARCH_MISMATCH)                                                                           \
    X(CUBLAS_STATUS_MAPPING_ERROR)                                                                           \
    X(CUBLAS_STATUS_EXECUTION_FAILED)                                                                        \
    X(CUBLAS_STATUS_INTERNAL_ERROR)                                                                          \
    X(CUBLAS_STATUS_NOT_SUPPORTED)                                                                           \
    X(CUBLAS_STATUS_LICENSE_ERROR)                                                                           \
    X(CUBLAS_OP_N)                                                                                           \
    X(CUBLAS_OP_T)                                                                                           \
    X(CUBLAS_COMPUTE_32F)                                                                                    \
    X(CUBLAS_COMPUTE_64F)                                                                                    \
    X(CUBLAS_COMPUTE_32F_FAST_TF32)                                                                          \
    X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)                                                                    \
    X(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)                                                           \
    X(CUBLASLT_MATMUL_DESC_TRANSA)                                                                           \
    X(CUBLASLT_MATMUL_DESC_TRANSB)                                                                           \
    X(CUBLASLT_MATMUL_DESC_EPILOGUE)                                                                         \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER)                                                                     \
    X(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)                                                                   \
    X(CUBLASLT_EPILOGUE_DEFAULT)                                                                             \
    X(CUBLASLT_EPILOGUE_RELU)                                                                                \
    X(CUBLASLT_EPILOGUE_GELU)                                                                                \
    X(CUBLASLT_EPILOGUE_BIAS)                                                                                \
    X(CUBLASLT_EPILOGUE_RELU_BIAS)                                                                           \
    X(CUBLASLT_EPILOGUE_GELU_BIAS)                                                                           \
    X(CUBLASLT_REDUCTION_SCHEME_NONE)                                                                        \
    X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)                                                                \
    X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)                                                              \
    X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)                                                            \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)                                                            \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)                                                            \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)                                                            \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)

#define CUBLASLT_SIZES(X)                                                                                    \
    X(cublasLtMatrixLayoutOpaque_t)                                                                          \
    X(cublasLtMatmulDescOpaque_t)                                                                            \
    X(cublasLtMatmulPreferenceOpaque_t)                                                                      \
    X(cublasLtMatmulAlgo_t)                                                                                  \
    X(cublasLtMatmulHeuristicResult_t)

/* One for each row of both lists, in their order; none where the header is not installed. */
extern const long cublaslt_numbers[];
extern const size_t cublaslt_number_count;
