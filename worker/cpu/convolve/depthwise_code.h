/* The code of depthwise micro-kernels (depthwise_tile.h), written once. A file that makes them for an
 * instruction set names its vectors before it uses DEPTHWISE_KERNELS:
 *
 *     Lanes             a vector of LANES floats that may lie anywhere
 *     TARGET            the attribute that names the instruction set
 *     FUSE(a, b, c)     a × b + c, rounded once
 *     LESSER(a, b)      a where it is less than b, else b
 *     GREATER(a, b)     a where it is greater than b, else b
 *
 * All loops are unrolled, so that sums stay in registers. */
#pragma once

#include "worker/cpu/convolve/depthwise_tile.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Keeps a vector in a register, and what was loaded before it in none: compilers would keep the whole filter,
 * for which there is no room, and load the vector anew for each line. */
#define LOADED_ONCE(vector) __asm__ volatile("" : "+v"(vector) : : "memory")

/* Stores the first `count` lanes, or all of them. */
#define DEPTHWISE_STORE                                                                                      \
    TARGET static inline void store_lanes(float *output, Lanes lanes, int64_t count)                         \
    {                                                                                                        \
        if (count >= LANES) {                                                                                \
            *(Lanes *)output = lanes;                                                                        \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t n = 0; n < count; n++) {                                                                \
            output[n] = lanes[n];                                                                            \
        }                                                                                                    \
    }

/* The first line that a row of the input is a part of. */
#define FIRST_LINE(size, stride) (row < (size) ? 0 : (row - (size)) / (stride) + 1)

#define DEPTHWISE_KERNEL(name, size, stride, vectors)                                                        \
    TARGET static void name(const DepthwiseTile *tile)                                                       \
    {                                                                                                        \
        enum { ROWS = (DEPTHWISE_LINES - 1) * (stride) + (size) };                                           \
        const float *input = tile->from;                                                                     \
        const float *filter = tile->filter;                                                                  \
        int64_t line_step = tile->line_step;                                                                 \
        Lanes zeros = {0};                                                                                   \
        Lanes sums[DEPTHWISE_LINES][vectors];                                                                \
        UNROLL for (int64_t line = 0; line < DEPTHWISE_LINES; line++)                                        \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < (vectors); n++)                                                   \
            {                                                                                                \
                sums[line][n] = zeros;                                                                       \
            }                                                                                                \
        }                                                                                                    \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            int64_t first = FIRST_LINE(size, stride);                                                        \
            const int64_t *taps = tile->taps + (row - first * (stride)) * (size);                            \
            UNROLL for (int64_t x = 0; x < (size); x++)                                                      \
            {                                                                                                \
                const float *from = input + taps[x] + first * line_step;                                     \
                Lanes right[vectors];                                                                        \
                UNROLL for (int64_t n = 0; n < (vectors); n++)                                               \
                {                                                                                            \
                    right[n] = *(const Lanes *)(from + n * LANES);                                           \
                    LOADED_ONCE(right[n]);                                                                   \
                }                                                                                            \
                UNROLL for (int64_t line = 0; line < DEPTHWISE_LINES; line++)                                \
                {                                                                                            \
                    int64_t y = row - line * (stride);                                                       \
                    if (y >= 0 && y < (size)) {                                                              \
                        Lanes left = filter[y * (size) + x] - zeros;                                         \
                        UNROLL for (int64_t n = 0; n < (vectors); n++)                                       \
                        {                                                                                    \
                            sums[line][n] = FUSE(left, right[n], sums[line][n]);                             \
                        }                                                                                    \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        Lanes bias = tile->bias - zeros;                                                                     \
        Lanes low = tile->bounds.low - zeros;                                                                \
        Lanes high = tile->bounds.high - zeros;                                                              \
        UNROLL for (int64_t line = 0; line < DEPTHWISE_LINES; line++)                                        \
        {                                                                                                    \
            float *output = tile->output + line * tile->output_step;                                         \
            UNROLL for (int64_t n = 0; n < (vectors); n++)                                                   \
            {                                                                                                \
                Lanes limited = GREATER(low, LESSER(high, sums[line][n] + bias));                            \
                store_lanes(output + n * LANES, limited, tile->count - n * LANES);                           \
            }                                                                                                \
        }                                                                                                    \
    }

#define DEPTHWISE_STRIDED(size, stride)                                                                      \
    DEPTHWISE_KERNEL(size_##size##_stride_##stride, size, stride, 1)                                         \
    DEPTHWISE_KERNEL(size_##size##_stride_##stride##_wide, size, stride, 2)

#define DEPTHWISE_ROW(size, stride)                                                                          \
    {                                                                                                        \
        size_##size##_stride_##stride, size_##size##_stride_##stride##_wide                                  \
    }

/* Makes all micro-kernels. */
#define DEPTHWISE_KERNELS                                                                                    \
    DEPTHWISE_STORE                                                                                          \
    DEPTHWISE_STRIDED(5, 1)                                                                                  \
    DEPTHWISE_STRIDED(5, 2)                                                                                  \
    DEPTHWISE_STRIDED(7, 1)                                                                                  \
    DEPTHWISE_STRIDED(7, 2)

/* Their table. */
#define DEPTHWISE_TABLE                                                                                      \
    {                                                                                                        \
        .lanes = LANES,                                                                                      \
        .tiles = {{DEPTHWISE_ROW(5, 1), DEPTHWISE_ROW(5, 2)}, {DEPTHWISE_ROW(7, 1), DEPTHWISE_ROW(7, 2)}},   \
    }
