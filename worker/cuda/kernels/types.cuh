/* The types of elements, and the choice of a kernel by them. */
#pragma once

#include "worker/cuda/kernels/launch.cuh"
#include "worker/cuda/kernels/types.h"
#include "worker/cuda/kernels/values.cuh"

template <typename T>
__host__ __device__ constexpr bool
is_floating()
{
    return false;
}
template <>
__host__ __device__ constexpr bool
is_floating<float>()
{
    return true;
}
template <>
__host__ __device__ constexpr bool
is_floating<double>()
{
    return true;
}
template <>
__host__ __device__ constexpr bool
is_floating<__half>()
{
    return true;
}
template <>
__host__ __device__ constexpr bool
is_floating<__nv_bfloat16>()
{
    return true;
}

/* a × b + c with one rounding, where a kernel means it: the compiler fuses nothing of itself (--fmad=false).
 */
__device__ __forceinline__ float
multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}

__device__ __forceinline__ double
multiply_add(double a, double b, double c)
{
    return fma(a, b, c);
}

__device__ __forceinline__ uint32_t
multiply_add(uint32_t a, uint32_t b, uint32_t c)
{
    return a * b + c;
}

__device__ __forceinline__ uint64_t
multiply_add(uint64_t a, uint64_t b, uint64_t c)
{
    return a * b + c;
}

/* Each returns `call`, in which T is the stored type, for the types of a class; cudaErrorInvalidValue for
 * others. */
#define TYPE_CASE(upper, type, call)                                                                         \
    case upper: {                                                                                            \
        using T = type;                                                                                      \
        return (int)(call);                                                                                  \
    }
#define WIDE_CASES(call)                                                                                     \
    TYPE_CASE(CUDA_FLOAT32, float, call)                                                                     \
    TYPE_CASE(CUDA_FLOAT64, double, call)
#define FLOATING_CASES(call)                                                                                 \
    WIDE_CASES(call)                                                                                         \
    TYPE_CASE(CUDA_FLOAT16, __half, call)                                                                    \
    TYPE_CASE(CUDA_BFLOAT16, __nv_bfloat16, call)
#define SIGNED_CASES(call)                                                                                   \
    TYPE_CASE(CUDA_INT8, int8_t, call)                                                                       \
    TYPE_CASE(CUDA_INT16, int16_t, call)                                                                     \
    TYPE_CASE(CUDA_INT32, int32_t, call)                                                                     \
    TYPE_CASE(CUDA_INT64, int64_t, call)
#define UNSIGNED_CASES(call)                                                                                 \
    TYPE_CASE(CUDA_UINT8, uint8_t, call)                                                                     \
    TYPE_CASE(CUDA_UINT16, uint16_t, call)                                                                   \
    TYPE_CASE(CUDA_UINT32, uint32_t, call)                                                                   \
    TYPE_CASE(CUDA_UINT64, uint64_t, call)
#define TYPE_SWITCH(type, cases)                                                                             \
    switch (type) {                                                                                          \
        cases default : return (int)(cudaErrorInvalidValue);                                                 \
    }

#define EACH_WIDE_TYPE(type, call) TYPE_SWITCH(type, WIDE_CASES(call))
#define EACH_FLOATING_TYPE(type, call) TYPE_SWITCH(type, FLOATING_CASES(call))
#define EACH_PRODUCT_TYPE(type, call)                                                                        \
    TYPE_SWITCH(type,                                                                                        \
        FLOATING_CASES(call) TYPE_CASE(CUDA_INT32, int32_t, call) TYPE_CASE(CUDA_INT64, int64_t, call))
#define EACH_INTEGER_TYPE(type, call) TYPE_SWITCH(type, SIGNED_CASES(call) UNSIGNED_CASES(call))
#define EACH_REAL_TYPE(type, call)                                                                           \
    TYPE_SWITCH(type, FLOATING_CASES(call) SIGNED_CASES(call) UNSIGNED_CASES(call))
