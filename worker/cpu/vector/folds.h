/* Many float32 numbers folded into one. Each of 32 lanes folds every 32nd number in double, and the lanes are
 * folded in a tree: the order depends on the count alone, so that the bits are the same on every instruction
 * set.
 *
 *     VECTOR_FOLD(sum_of, 0, sum + a, sum + a)       defines double sum_of(const float *x, int64_t count)
 *
 * `step` takes the element `a` into `sum`; `combine` takes another lane's result, `a`. The functions are
 * VECTOR_FUNCTIONs, to be called in a body of VECTOR_VARIANTS().
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum { VECTOR_LANES = 32 };

#define VECTOR_FOLD(name, initial, step, combine)                                                            \
    VECTOR_FUNCTION double name(const float *x, int64_t count)                                               \
    {                                                                                                        \
        double lanes[VECTOR_LANES];                                                                          \
        for (int lane = 0; lane < VECTOR_LANES; lane++) {                                                    \
            lanes[lane] = (initial);                                                                         \
        }                                                                                                    \
        int64_t n = 0;                                                                                       \
        for (; n + VECTOR_LANES <= count; n += VECTOR_LANES) {                                               \
            VECTOR_LOOP for (int lane = 0; lane < VECTOR_LANES; lane++)                                      \
            {                                                                                                \
                double a = (double)x[n + lane];                                                              \
                double sum = lanes[lane];                                                                    \
                lanes[lane] = (step);                                                                        \
            }                                                                                                \
        }                                                                                                    \
        for (int lane = 0; n < count; n++, lane++) {                                                         \
            double a = (double)x[n];                                                                         \
            double sum = lanes[lane];                                                                        \
            lanes[lane] = (step);                                                                            \
        }                                                                                                    \
        for (int width = VECTOR_LANES / 2; width > 0; width /= 2) {                                          \
            for (int lane = 0; lane < width; lane++) {                                                       \
                double a = lanes[lane + width];                                                              \
                double sum = lanes[lane];                                                                    \
                lanes[lane] = (combine);                                                                     \
            }                                                                                                \
        }                                                                                                    \
        return lanes[0];                                                                                     \
    }

/* NaN wins over numbers. */
#define VECTOR_LARGER ((a > sum || a != a) ? a : sum)
#define VECTOR_SMALLER ((a < sum || a != a) ? a : sum)
