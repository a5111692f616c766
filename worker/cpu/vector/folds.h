/* Many float32 numbers folded into one. Each of 32 lanes folds every 32nd number, in double or, where nothing
 * is rounded, in float; the lanes are folded in a tree: the order depends on the count alone, so that the
 * bits are the same on every instruction set.
 *
 *     VECTOR_FOLD(double, sum_of, 0, sum + a, sum + a)     defines double sum_of(const float *x, int64_t
 * count)
 *
 * `step` takes the element `a` into `sum`; `initial` is an element that changes no sum; `combine` takes
 * another lane's result, `a`. The functions are VECTOR_FUNCTIONs, to be called in a body of
 * VECTOR_VARIANTS(). That with `_within` may read, and ignore, numbers behind the last one, up to `readable`:
 * short rows of a matrix are folded twice as fast.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum { VECTOR_LANES = 32 };

#define VECTOR_FOLD_STEP(type, element, step)                                                                \
    {                                                                                                        \
        type a = (type)(element);                                                                            \
        type sum = lanes[lane];                                                                              \
        lanes[lane] = (step);                                                                                \
    }

/* Folds the lanes from `width` on into those before. */
#define VECTOR_FOLD_HALF(type, width, combine)                                                               \
    VECTOR_LOOP for (int lane = 0; lane < (width); lane++)                                                   \
        VECTOR_FOLD_STEP(type, lanes[lane + (width)], combine)

#define VECTOR_FOLD(type, name, initial, step, combine)                                                      \
    VECTOR_FUNCTION type name##_within(const float *x, int64_t count, int64_t readable)                      \
    {                                                                                                        \
        type lanes[VECTOR_LANES];                                                                            \
        for (int lane = 0; lane < VECTOR_LANES; lane++) {                                                    \
            lanes[lane] = (initial);                                                                         \
        }                                                                                                    \
        int64_t n = 0;                                                                                       \
        for (; n + VECTOR_LANES <= count; n += VECTOR_LANES) {                                               \
            VECTOR_LOOP for (int lane = 0; lane < VECTOR_LANES; lane++)                                      \
                VECTOR_FOLD_STEP(type, x[n + lane], step)                                                    \
        }                                                                                                    \
        int rest = (int)(count - n);                                                                         \
        if (rest > 0 && n + VECTOR_LANES <= readable) {                                                      \
            VECTOR_LOOP for (int lane = 0; lane < VECTOR_LANES; lane++)                                      \
            {                                                                                                \
                float read = x[n + lane];                                                                    \
                VECTOR_FOLD_STEP(type, lane < rest ? read : (float)(initial), step)                          \
            }                                                                                                \
        } else {                                                                                             \
            for (int lane = 0; lane < rest; lane++)                                                          \
                VECTOR_FOLD_STEP(type, x[n + lane], step)                                                    \
        }                                                                                                    \
        VECTOR_FOLD_HALF(type, 16, combine)                                                                  \
        VECTOR_FOLD_HALF(type, 8, combine)                                                                   \
        VECTOR_FOLD_HALF(type, 4, combine)                                                                   \
        VECTOR_FOLD_HALF(type, 2, combine)                                                                   \
        VECTOR_FOLD_HALF(type, 1, combine)                                                                   \
        return lanes[0];                                                                                     \
    }                                                                                                        \
    VECTOR_FUNCTION type name(const float *x, int64_t count)                                                 \
    {                                                                                                        \
        return name##_within(x, count, count);                                                               \
    }

/* NaN wins over numbers. */
#define VECTOR_LARGER ((a > sum || a != a) ? a : sum)
#define VECTOR_SMALLER ((a < sum || a != a) ? a : sum)
