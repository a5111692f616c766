/* Conversion of numbers between types, by the rules of worker/reference/cast.h.
 *
 * Valid for nvcc, NVRTC and a C++ compiler that stands in for them. */
#pragma once

#include "worker/cuda/kernels/values.cuh"

/* Tells floating types from integers, which have no ½. */
template <typename T> struct HasFractions {
    static constexpr bool value = (Accumulator<T>)0.5F != 0;
};

/* Truncates within [-end, end); all other numbers and NaN give -end. */
__device__ __forceinline__ int64_t
truncate_within(double value, double end)
{
    return (int64_t)(value >= -end && value < end ? value : -end);
}

template <typename T>
__device__ __forceinline__ int64_t
truncate_signed(double value)
{
    return truncate_within(value, sizeof(T) < sizeof(int64_t) ? 0x1p31 : 0x1p63);
}

/* Converts a number below zero as the signed integer is converted. */
template <typename T>
__device__ __forceinline__ uint64_t
truncate_unsigned(double value)
{
    double end = sizeof(T) < sizeof(uint64_t) ? 0x1p31 : 0x1p63;
    if (sizeof(T) >= sizeof(uint32_t) && value >= end && value < 2 * end) {
        return (uint64_t)value;
    }
    return (uint64_t)truncate_within(value, end);
}

/* Stores a value of one of the three widest types, which hold all others exactly. */
template <typename V, typename T>
__device__ __forceinline__ void
store_converted(T *output, int64_t i, V value, bool is_bool)
{
    if constexpr (HasFractions<T>::value) {
        store(output, i, (Accumulator<T>)value);
    } else if (is_bool) {
        output[i] = (T)(value != 0);
    } else if constexpr (HasFractions<V>::value) {
        bool is_signed = (T)(-1) < (T)1;
        output[i] = is_signed ? (T)(truncate_signed<T>(value)) : (T)(truncate_unsigned<T>(value));
    } else {
        output[i] = (T)value;
    }
}
