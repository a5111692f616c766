/* Elements in the device's memory: what they are stored as, and what a kernel computes with. The 16-bit
 * floats compute as float, all others as themselves; there is one rounding, on the way out.
 *
 * Valid for nvcc, NVRTC and a C++ compiler that stands in for them. */
#pragma once

#include "worker/cuda/kernels/language.cuh"

template <typename T> struct AccumulatorOf {
    using Type = T;
};
template <> struct AccumulatorOf<__half> {
    using Type = float;
};
template <> struct AccumulatorOf<__nv_bfloat16> {
    using Type = float;
};
template <typename T> using Accumulator = typename AccumulatorOf<T>::Type;

template <typename T>
__device__ __forceinline__ T
load(const T *data, int64_t index)
{
    return data[index];
}

__device__ __forceinline__ float
load(const __half *data, int64_t index)
{
    return __half2float(data[index]);
}

__device__ __forceinline__ float
load(const __nv_bfloat16 *data, int64_t index)
{
    return __bfloat162float(data[index]);
}

template <typename T, typename V>
__device__ __forceinline__ void
store(T *data, int64_t index, V value)
{
    data[index] = (T)value;
}

__device__ __forceinline__ void
store(__half *data, int64_t index, float value)
{
    data[index] = __float2half_rn(value);
}

__device__ __forceinline__ void
store(__nv_bfloat16 *data, int64_t index, float value)
{
    data[index] = __float2bfloat16_rn(value);
}
