/* The functions of the lists in functions.h as types with a function of(a, b, c, p, q), and those that they
 * call.
 *
 * Valid for nvcc, NVRTC and a C++ compiler that stands in for them (tests/support/cuda_on_cpu). */
#pragma once

#include "worker/cuda/kernels/functions.h"
#include "worker/cuda/kernels/values.cuh"

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

/* The upper limit wins, as in ONNX's Clip. */
template <typename C>
__device__ __forceinline__ C
clip(C a, C low, C high)
{
    C limited = a < low ? low : a;
    return limited > high ? high : limited;
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

#define MAP_OF_ALL(name, count, expression) MAP_FUNCTION(name##_map, count, C, expression)
#define MAP_TO_BOOL(name, count, expression) MAP_FUNCTION(name##_map, count, bool, expression)
#define MAP_OF_NUMBERS(name, count, floating, integer)                                                       \
    MAP_FUNCTION(name##_floating, count, C, floating)                                                        \
    MAP_FUNCTION(name##_integer, count, C, integer)
#define MAP_OF_REALS(name, count, floating, of_signed, of_unsigned)                                          \
    MAP_FUNCTION(name##_floating, count, C, floating)                                                        \
    MAP_OF_SHIFTS(name, count, of_signed, of_unsigned)
#define MAP_OF_SHIFTS(name, count, of_signed, of_unsigned)                                                   \
    MAP_FUNCTION(name##_signed, count, C, of_signed)                                                         \
    MAP_FUNCTION(name##_unsigned, count, C, of_unsigned)
#define MAP_OF_INTEGERS(name, count, expression) MAP_FUNCTION(name##_integer, count, C, expression)

CUDA_FLOAT_MAPS(MAP_OF_ALL)
CUDA_NUMBER_MAPS(MAP_OF_NUMBERS)
CUDA_REAL_MAPS(MAP_OF_REALS)
CUDA_SHIFT_MAPS(MAP_OF_SHIFTS)
CUDA_FLOAT_TESTS(MAP_TO_BOOL)
CUDA_COMPARISONS(MAP_TO_BOOL)
CUDA_INTEGER_MAPS(MAP_OF_INTEGERS)
CUDA_BOOL_MAPS(MAP_TO_BOOL)

/* Computes an element of type R from elements of type T, by numbers of type C, as every kernel does that has
 * such a function; `b` and `c` are read if F has that many inputs. */
template <typename F, typename T, typename C, typename R>
__device__ __forceinline__ void
map_stored(const T *a, const T *b, const T *c, const float *parameters, R *result)
{
    C first = (C)(load(a, 0));
    C second = F::inputs > 1 ? (C)(load(b, 0)) : C();
    C third = F::inputs > 2 ? (C)(load(c, 0)) : C();
    store(result, 0, F::of(first, second, third, (C)parameters[0], (C)parameters[1]));
}
