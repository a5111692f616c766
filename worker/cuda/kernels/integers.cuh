/* Integers of any type, read as the host reads those that are indices (tensor_to_int64()). */
#pragma once

#include "worker/cuda/kernels/types.cuh"

/* False, with 0: the integer is above INT64_MAX. */
__device__ __forceinline__ bool
load_integer(CudaType type, const void *data, int64_t index, int64_t *ret_value)
{
#define LOAD_INTEGER(upper, stored)                                                                          \
    case upper:                                                                                              \
        *ret_value = ((const stored *)(data))[index];                                                        \
        return true;
    switch (type) {
        LOAD_INTEGER(CUDA_INT8, int8_t)
        LOAD_INTEGER(CUDA_INT16, int16_t)
        LOAD_INTEGER(CUDA_INT32, int32_t)
        LOAD_INTEGER(CUDA_INT64, int64_t)
        LOAD_INTEGER(CUDA_UINT8, uint8_t)
        LOAD_INTEGER(CUDA_UINT16, uint16_t)
        LOAD_INTEGER(CUDA_UINT32, uint32_t)
    default:
        break;
    }
#undef LOAD_INTEGER
    uint64_t value = ((const uint64_t *)data)[index];
    bool is_read = value <= INT64_MAX;
    *ret_value = is_read ? (int64_t)value : 0;
    return is_read;
}
