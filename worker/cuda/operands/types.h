/* Dtypes as the kernels' types. */
#pragma once

#include "shared/tensor/dtype.h"
#include "worker/cuda/kernels/types.h"

_Static_assert((int)CUDA_BOOL == DTYPE_BOOL && (int)CUDA_INT64 == DTYPE_INT64 &&
                   (int)CUDA_UINT64 == DTYPE_UINT64 && (int)CUDA_FLOAT16 == DTYPE_FLOAT16 &&
                   (int)CUDA_BFLOAT16 == DTYPE_BFLOAT16 && (int)CUDA_FLOAT64 == DTYPE_FLOAT64,
    "both sides count the types alike");

/* Returns CUDA_INVALID for a dtype that kernels do not compute with: complex numbers and what is not
 * copyable. */
static inline CudaType
cuda_type(Dtype dtype)
{
    return (int)dtype < (int)CUDA_TYPE_COUNT ? (CudaType)dtype : CUDA_INVALID;
}
