/* The kernel of all element-wise functions, and what makes one of a row of elementwise.h's lists. */
#pragma once

#include <cmath>

#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/index.cuh"

/* A number in the type in which the function computes. */
#define NUMBER(value) (C)(value)

/* Selu's fixed point: mean 0, variance 1 (Klambauer et al., 2017). */
#define SELU_ALPHA NUMBER(1.6732632423543772848170429916717)
#define SELU_SCALE NUMBER(1.0507009873554804934193349852946)

/* log(1 + e^a) without overflow. */
template <typename C>
__device__ __forceinline__ C
softplus(C a)
{
    return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
}

/* NaN passes through. */
template <typename C>
__device__ __forceinline__ C
clamp_between(C a, C low, C high)
{
    return a < low ? low : a > high ? high : a;
}

/* The lower limit wins, as in TensorFlow's ClipByValue. */
template <typename C>
__device__ __forceinline__ C
limit(C a, C low, C high)
{
    C limited = a > high ? high : a;
    return limited < low ? low : limited;
}

/* Integers wrap, as INT64_MIN / -1 does; what is divided by zero has been refused, and gives 0. */
__device__ __forceinline__ uint64_t
divide(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a / b;
}

__device__ __forceinline__ int64_t
divide(int64_t a, int64_t b)
{
    if (b == -1) {
        return (int64_t)(0 - (uint64_t)a);
    }
    return b == 0 ? 0 : a / b;
}

__device__ __forceinline__ uint64_t
remainder_of(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a % b;
}

__device__ __forceinline__ int64_t
remainder_of(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

__device__ __forceinline__ int64_t
floor_divide(int64_t a, int64_t b)
{
    return divide(a, b) - (remainder_of(a, b) != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/* The sign of the result is the divisor's. */
__device__ __forceinline__ int64_t
floor_remainder(int64_t a, int64_t b)
{
    int64_t rest = remainder_of(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

__device__ __forceinline__ uint64_t
power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? base : 1;
        base *= base;
    }
    return result;
}

__device__ __forceinline__ int64_t
power(int64_t base, int64_t exponent)
{
    return (int64_t)(power((uint64_t)base, (uint64_t)exponent));
}

/* Returns the places to shift by: from none to all but one of the width. */
template <typename C>
__device__ __forceinline__ C
held_shift(C places, C width)
{
    return places < 1 ? 0 : places >= width ? width - 1 : places; /* of unsigned types, none is below 0 */
}

template <typename F, typename T, typename C, typename R>
__device__ __forceinline__ void
map_element(const CudaMap &map, const int64_t *at, int64_t i)
{
    C a = (C)(load((const T *)map.inputs[0], at[0]));
    C b = F::inputs > 1 ? (C)(load((const T *)map.inputs[1], at[1])) : C();
    C c = F::inputs > 2 ? (C)(load((const T *)map.inputs[2], at[2])) : C();
    C p = (C)map.parameters[0];
    C q = (C)map.parameters[1];
    store((R *)map.output, i, F::of(a, b, c, p, q));
}

/* The walk of rank 1 at most: each input goes on by its one stride. */
template <typename F, typename T, typename C, typename R>
__global__ void
map_line_kernel(CudaMap map)
{
    for (int64_t i = index_first(); i < map.count; i += index_step()) {
        int64_t at[CUDA_MAP_INPUTS_MAX] = {
            i * map.strides[0][0], i * map.strides[1][0], i * map.strides[2][0]};
        map_element<F, T, C, R>(map, at, i);
    }
}

template <typename F, typename T, typename C, typename R>
__global__ void
map_kernel(CudaMap map)
{
    for (int64_t i = index_first(); i < map.count; i += index_step()) {
        int64_t at[CUDA_MAP_INPUTS_MAX] = {0, 0, 0};
        index_offsets<F::inputs>(i, map.rank, map.sizes, map.strides, at);
        map_element<F, T, C, R>(map, at, i);
    }
}

/* T is stored, the function computes with C, the result is stored as R. */
template <typename F, typename T, typename C, typename R>
static cudaError_t
map_elements(const CudaMap *map, cudaStream_t stream)
{
    if (map == nullptr || map->count == 0) {
        return cudaSuccess;
    }
    dim3 grid = index_grid(map->count);
    if constexpr (F::inputs > 1) {
        if (map->rank > 1) {
            return cuda_launch(map_kernel<F, T, C, R>, grid, dim3(INDEX_THREADS), 0, stream, *map);
        }
    }
    return cuda_launch(map_line_kernel<F, T, C, R>, grid, dim3(INDEX_THREADS), 0, stream, *map);
}

/* Makes the function of a row of a list; `result` is C, the type in which it computes, or bool. */
#define MAP_FUNCTION(name, count, result, expression)                                                        \
    struct name {                                                                                            \
        static constexpr int inputs = count;                                                                 \
        template <typename C>                                                                                \
        static __device__ __forceinline__ result                                                             \
        of(C a, C b, C c, C p, C q)                                                                          \
        {                                                                                                    \
            (void)a, (void)b, (void)c, (void)p, (void)q;                                                     \
            return (result)(expression);                                                                     \
        }                                                                                                    \
    };
