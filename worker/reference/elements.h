/* Element types as C types, in classes: the tables from which kernels make one loop for each dtype.
 *
 * Each row: X(…the caller's arguments…, DTYPE, dtype, storage, compute, read, write). An element is stored
 * as `storage`; `read(element)` gives a `compute` value and `write(value)` turns one back. The 16-bit
 * floats compute as float. Integers that must wrap compute as uint64_t: two's complement makes the low
 * bits of sums, differences and products the same for every width and sign, and nothing overflows. */
#pragma once

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/tensor/dtype.h"
#include "shared/tensor/half.h"

#define FLOATING_ELEMENTS(X, ...)                                                                            \
    X(__VA_ARGS__, FLOAT16, float16, uint16_t, float, half_to_float, half_from_float)                        \
    X(__VA_ARGS__, BFLOAT16, bfloat16, uint16_t, float, bfloat16_to_float, bfloat16_from_float)              \
    X(__VA_ARGS__, FLOAT32, float32, float, float, , (float))                                                \
    X(__VA_ARGS__, FLOAT64, float64, double, double, , (double))

#define SIGNED_ELEMENTS(X, ...)                                                                              \
    X(__VA_ARGS__, INT8, int8, int8_t, int64_t, (int64_t), (int8_t))                                         \
    X(__VA_ARGS__, INT16, int16, int16_t, int64_t, (int64_t), (int16_t))                                     \
    X(__VA_ARGS__, INT32, int32, int32_t, int64_t, (int64_t), (int32_t))                                     \
    X(__VA_ARGS__, INT64, int64, int64_t, int64_t, (int64_t), (int64_t))

#define UNSIGNED_ELEMENTS(X, ...)                                                                            \
    X(__VA_ARGS__, UINT8, uint8, uint8_t, uint64_t, , (uint8_t))                                             \
    X(__VA_ARGS__, UINT16, uint16, uint16_t, uint64_t, , (uint16_t))                                         \
    X(__VA_ARGS__, UINT32, uint32, uint32_t, uint64_t, , (uint32_t))                                         \
    X(__VA_ARGS__, UINT64, uint64, uint64_t, uint64_t, , (uint64_t))

#define WRAPPING_ELEMENTS(X, ...)                                                                            \
    X(__VA_ARGS__, INT8, int8, int8_t, uint64_t, (uint64_t), (int8_t))                                       \
    X(__VA_ARGS__, INT16, int16, int16_t, uint64_t, (uint64_t), (int16_t))                                   \
    X(__VA_ARGS__, INT32, int32, int32_t, uint64_t, (uint64_t), (int32_t))                                   \
    X(__VA_ARGS__, INT64, int64, int64_t, uint64_t, (uint64_t), (int64_t))                                   \
    UNSIGNED_ELEMENTS(X, __VA_ARGS__)

#define INTEGER_ELEMENTS(X, ...)                                                                             \
    SIGNED_ELEMENTS(X, __VA_ARGS__)                                                                          \
    UNSIGNED_ELEMENTS(X, __VA_ARGS__)

#define BOOL_ELEMENTS(X, ...) X(__VA_ARGS__, BOOL, bool, uint8_t, bool, (bool), (uint8_t))

#define COMPLEX_ELEMENTS(X, ...)                                                                             \
    X(__VA_ARGS__, COMPLEX64, complex64, float complex, float complex, , (float complex))                    \
    X(__VA_ARGS__, COMPLEX128, complex128, double complex, double complex, , (double complex))

/* Numbers that have an order. */
#define REAL_ELEMENTS(X, ...)                                                                                \
    FLOATING_ELEMENTS(X, __VA_ARGS__)                                                                        \
    INTEGER_ELEMENTS(X, __VA_ARGS__)

/* One entry of a table of loops indexed by dtype: [DTYPE_INT8] = add_int8, */
#define LOOP_ENTRY(name, upper, lower, ...) [DTYPE_##upper] = name##_##lower,
#define FLOATING_LOOPS(name) FLOATING_ELEMENTS(LOOP_ENTRY, name)
#define INTEGER_LOOPS(name) INTEGER_ELEMENTS(LOOP_ENTRY, name)
#define SIGNED_LOOPS(name) SIGNED_ELEMENTS(LOOP_ENTRY, name)
#define UNSIGNED_LOOPS(name) UNSIGNED_ELEMENTS(LOOP_ENTRY, name)
#define BOOL_LOOPS(name) BOOL_ELEMENTS(LOOP_ENTRY, name)
#define COMPLEX_LOOPS(name) COMPLEX_ELEMENTS(LOOP_ENTRY, name)
#define REAL_LOOPS(name) FLOATING_LOOPS(name) INTEGER_LOOPS(name)
