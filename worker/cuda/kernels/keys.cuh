/* Numbers by which elements are sorted. */
#pragma once

#include <cmath>

#include "worker/cuda/kernels/types.cuh"

__device__ __forceinline__ uint64_t
double_bits(double value)
{
    uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value, "the bits of a number");
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns numbers in the order of the elements, whose largest is NaN; 0 equals -0. */
template <typename T>
__device__ __forceinline__ uint64_t
ascending_key(const T *input, int64_t at)
{
    constexpr uint64_t sign = (uint64_t)1 << 63;
    if constexpr (is_floating<T>()) {
        double value = (double)load(input, at);
        uint64_t bits = value == 0 ? 0 : double_bits(value);
        return value != value ? UINT64_MAX : (bits & sign) != 0 ? ~bits : bits | sign;
    } else {
        constexpr bool is_signed = (T)-1 < (T)1;
        return is_signed ? (uint64_t)(int64_t)input[at] ^ sign : (uint64_t)input[at];
    }
}
