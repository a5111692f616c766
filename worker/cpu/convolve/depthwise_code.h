/* The code of depthwise micro-kernels (depthwise_tile.h), written once. A file that makes them for an
 * instruction set names its vectors before it uses DEPTHWISE_KERNELS:
 *
 *     Lanes             a vector of LANES floats that may lie anywhere
 *     INNER_VECTORS     vectors of a tile that is at no edge
 *     Mask              says which lanes of a vector are loaded
 *     TARGET            the attribute that names the instruction set
 *     FUSE(a, b, c)     a × b + c, rounded once
 *     LESSER(a, b)      a where it is less than b, else b
 *     GREATER(a, b)     a where it is greater than b, else b
 *     mask_columns()    the lanes from column `first` on that lie in a line of `width`
 *     load_masked()     those lanes, and zeros in the others
 *     Store             says which lanes of a vector are stored
 *     store_of()        the first `count` lanes, or all of them
 *     store_first()     stores those lanes
 *     pick_even(a, b)   the lanes 0, 2, 4, … of a and b together
 *     pick_odd(a, b)    the lanes 1, 3, 5, …
 *
 * All loops are unrolled, so that sums stay in registers. */
#pragma once

#include "worker/cpu/convolve/depthwise_tile.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Keeps a vector in a register, and the order of what is before it and behind it: compilers would load all
 * numbers of a large filter first, for which there is no room. */
#define HELD(vector) __asm__ volatile("" : "+v"(vector))
#define HELD_3(vector) (void)(vector)
#define HELD_5(vector) HELD(vector)
#define HELD_7(vector) HELD(vector)

/* Load vector `n` from the column on that tap `x` meets first. Tiles at an edge leave out columns that are
 * not in the line. */
#define LOAD_INNER(x, n) (*(const Lanes *)(row + (x) + (n)*LANES))
#define LOAD_EDGE(x, n) load_masked(row + (x) + (n)*LANES, masks[x][n])

#define DEPTHWISE_KERNEL(name, size, stride, vectors, LOAD)                                                  \
    TARGET static void name(const DepthwiseTile *tile)                                                       \
    {                                                                                                        \
        enum { ROWS = (DEPTHWISE_LINES - 1) * (stride) + (size) };                                           \
        const float *filter = tile->filter;                                                                  \
        int32_t start = tile->first;                                                                         \
        Mask masks[size][stride];                                                                            \
        UNROLL for (int64_t x = 0; x < (size); x += (stride))                                                \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < (stride); n++)                                                    \
            {                                                                                                \
                masks[x][n] = mask_columns(start + (int32_t)(x + n * LANES), tile->width);                   \
            }                                                                                                \
        }                                                                                                    \
        (void)masks;                                                                                         \
        Lanes zeros = {0};                                                                                   \
        Lanes sums[DEPTHWISE_LINES][vectors] = {{{0}}};                                                      \
        UNROLL for (int64_t at = 0; at < ROWS; at++)                                                         \
        {                                                                                                    \
            if (at >= tile->row_count) {                                                                     \
                break;                                                                                       \
            }                                                                                                \
            const float *row = tile->rows[at] + start;                                                       \
            UNROLL for (int64_t x = 0; x < (size); x += (stride))                                            \
            {                                                                                                \
                Lanes right[stride][vectors];                                                                \
                UNROLL for (int64_t n = 0; n < (vectors); n++)                                               \
                {                                                                                            \
                    Lanes low = LOAD(x, n * (stride));                                                       \
                    HELD(low);                                                                               \
                    if ((stride) == 2) {                                                                     \
                        Lanes high = LOAD(x, n * (stride) + (stride)-1);                                     \
                        HELD(high);                                                                          \
                        right[(stride)-1][n] = pick_odd(low, high);                                          \
                        low = pick_even(low, high);                                                          \
                    }                                                                                        \
                    right[0][n] = low;                                                                       \
                }                                                                                            \
                UNROLL for (int64_t tap = 0; tap < (stride); tap++)                                          \
                {                                                                                            \
                    UNROLL for (int64_t line = 0; line < DEPTHWISE_LINES; line++)                            \
                    {                                                                                        \
                        int64_t y = at - line * (stride);                                                    \
                        if (y < 0 || y >= (size) || x + tap >= (size)) {                                     \
                            continue;                                                                        \
                        }                                                                                    \
                        Lanes left = filter[y * (size) + x + tap] - zeros;                                   \
                        UNROLL for (int64_t n = 0; n < (vectors); n++)                                       \
                        {                                                                                    \
                            sums[line][n] = FUSE(left, right[tap][n], sums[line][n]);                        \
                            HELD_##size(sums[line][n]);                                                      \
                        }                                                                                    \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        Lanes bias = tile->bias - zeros;                                                                     \
        Lanes lowest = tile->bounds.low - zeros;                                                             \
        Lanes highest = tile->bounds.high - zeros;                                                           \
        UNROLL for (int64_t n = 0; n < (vectors); n++)                                                       \
        {                                                                                                    \
            Store store = store_of(tile->count - n * LANES);                                                 \
            float *output = tile->output + n * LANES;                                                        \
            UNROLL for (int64_t line = 0; line < DEPTHWISE_LINES; line++, output += tile->output_step)       \
            {                                                                                                \
                if (line >= tile->lines) {                                                                   \
                    break;                                                                                   \
                }                                                                                            \
                Lanes limited = GREATER(lowest, LESSER(highest, sums[line][n] + bias));                      \
                store_first(output, limited, store);                                                         \
            }                                                                                                \
        }                                                                                                    \
    }

#define DEPTHWISE_STRIDED(size, stride)                                                                      \
    DEPTHWISE_KERNEL(size_##size##_stride_##stride##_edge, size, stride, 1, LOAD_EDGE)                       \
    DEPTHWISE_KERNEL(size_##size##_stride_##stride##_inner, size, stride, INNER_VECTORS, LOAD_INNER)

#define DEPTHWISE_PAIR(size, stride)                                                                         \
    {                                                                                                        \
        size_##size##_stride_##stride##_edge, size_##size##_stride_##stride##_inner                          \
    }
#define DEPTHWISE_ROW(size)                                                                                  \
    {                                                                                                        \
        DEPTHWISE_PAIR(size, 1), DEPTHWISE_PAIR(size, 2)                                                     \
    }

/* Makes all micro-kernels. */
#define DEPTHWISE_KERNELS                                                                                    \
    DEPTHWISE_STRIDED(3, 1)                                                                                  \
    DEPTHWISE_STRIDED(3, 2)                                                                                  \
    DEPTHWISE_STRIDED(5, 1)                                                                                  \
    DEPTHWISE_STRIDED(5, 2)                                                                                  \
    DEPTHWISE_STRIDED(7, 1)                                                                                  \
    DEPTHWISE_STRIDED(7, 2)

/* Their table. */
#define DEPTHWISE_TABLE                                                                                      \
    {                                                                                                        \
        .edge = LANES, .inner = (int64_t)INNER_VECTORS * LANES,                                              \
        .tiles = {DEPTHWISE_ROW(3), DEPTHWISE_ROW(5), DEPTHWISE_ROW(7)},                                     \
    }
