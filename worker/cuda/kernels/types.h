/* The types of elements that kernels compute with, for the C and the CUDA side: the numbers are those of
 * Dtype (shared/tensor/dtype.h), which worker/cuda/operands/types.h asserts. Valid C11 and C++. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum CudaType {
    CUDA_INVALID,
    CUDA_BOOL,
    CUDA_INT8,
    CUDA_INT16,
    CUDA_INT32,
    CUDA_INT64,
    CUDA_UINT8,
    CUDA_UINT16,
    CUDA_UINT32,
    CUDA_UINT64,
    CUDA_FLOAT16,
    CUDA_BFLOAT16,
    CUDA_FLOAT32,
    CUDA_FLOAT64,
    CUDA_TYPE_COUNT
} CudaType;
