/* The code of micro-kernels (microkernel.h), written once. A file that makes them for an instruction set
 * names its vectors before it uses MICROKERNEL():
 *
 *     Lanes             a vector of LANES floats that may lie anywhere
 *     PANEL_VECTORS     vectors in a row of a panel
 *     TARGET            the attribute that names the instruction set
 *     FUSE(a, b, c)     a × b + c, rounded once
 *     LARGER(a, b)      a where it is larger than b, else b: also where b is NaN
 *     SMALLER(a, b)
 *
 * All loops but the one over the inner dimension are unrolled, so that sums stay in registers. */
#pragma once

#include "worker/cpu/product/microkernel.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Makes the micro-kernel of a product. */
#define MICROKERNEL(name, rows, panels)                                                                      \
    TARGET static void name(const MicroTile *tile)                                                           \
    {                                                                                                        \
        enum { ROWS = (rows), VECTORS = (panels)*PANEL_VECTORS };                                            \
        Lanes zeros = {0};                                                                                   \
        Lanes sums[ROWS][VECTORS];                                                                           \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                const float *from = tile->sums + row * tile->sums_step + n * LANES;                          \
                sums[row][n] = tile->begins ? zeros : *(const Lanes *)from;                                  \
            }                                                                                                \
        }                                                                                                    \
        const float *a = tile->a;                                                                            \
        for (int64_t k = 0; k < tile->depth; k++, a++) {                                                     \
            const float *b = tile->b + k * tile->b_step;                                                     \
            Lanes right[VECTORS];                                                                            \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                const float *panel = b + n / PANEL_VECTORS * tile->panel_step;                               \
                right[n] = *(const Lanes *)(panel + n % PANEL_VECTORS * LANES);                              \
            }                                                                                                \
            UNROLL for (int64_t row = 0; row < ROWS; row++)                                                  \
            {                                                                                                \
                Lanes left = a[row * MICROKERNEL_ROW_STEP] - zeros;                                          \
                UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                 \
                {                                                                                            \
                    sums[row][n] = FUSE(left, right[n], sums[row][n]);                                       \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                *(Lanes *)(tile->sums + row * tile->sums_step + n * LANES) = sums[row][n];                   \
            }                                                                                                \
        }                                                                                                    \
    }

/* Makes the micro-kernel of a convolution. */
#define TAP_KERNEL(name, rows, vectors)                                                                      \
    TARGET static void name(const TapTile *tile)                                                             \
    {                                                                                                        \
        enum { ROWS = (rows), VECTORS = (vectors) };                                                         \
        Lanes zeros = {0};                                                                                   \
        Lanes sums[ROWS][VECTORS];                                                                           \
        const TapEnd *end = tile->end;                                                                       \
        if (end != NULL) {                                                                                   \
            UNROLL for (int64_t row = 0; row < ROWS; row++)                                                  \
            {                                                                                                \
                __builtin_prefetch(end->output + row * end->output_step, 1);                                 \
                __builtin_prefetch(end->output + row * end->output_step + VECTORS * LANES - 1, 1);           \
                if (end->addend != NULL) {                                                                   \
                    __builtin_prefetch(end->addend + row * end->output_step);                                \
                    __builtin_prefetch(end->addend + row * end->output_step + VECTORS * LANES - 1);          \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                const float *from = tile->sums + row * tile->sums_step + n * LANES;                          \
                sums[row][n] = tile->begins ? zeros : *(const Lanes *)from;                                  \
            }                                                                                                \
        }                                                                                                    \
        const float *a = tile->a;                                                                            \
        int64_t next = tile->next_a - tile->a;                                                               \
        for (int64_t k = 0; k < tile->depth; k++, a += ROWS) {                                               \
            const float *b = tile->b + tile->taps[k];                                                        \
            Lanes right[VECTORS];                                                                            \
            FETCH(a + next);                                                                                 \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                right[n] = *(const Lanes *)(b + n * LANES);                                                  \
            }                                                                                                \
            UNROLL for (int64_t row = 0; row < ROWS; row++)                                                  \
            {                                                                                                \
                Lanes left = a[row] - zeros;                                                                 \
                UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                 \
                {                                                                                            \
                    sums[row][n] = FUSE(left, right[n], sums[row][n]);                                       \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        if (end == NULL) {                                                                                   \
            UNROLL for (int64_t row = 0; row < ROWS; row++)                                                  \
            {                                                                                                \
                UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                 \
                {                                                                                            \
                    *(Lanes *)(tile->sums + row * tile->sums_step + n * LANES) = sums[row][n];               \
                }                                                                                            \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        Lanes lowest = end->lowest - zeros;                                                                  \
        Lanes highest = end->highest - zeros;                                                                \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                int64_t at = row * end->output_step + n * LANES;                                             \
                Lanes value = sums[row][n] + end->bias[row];                                                 \
                if (end->addend != NULL) {                                                                   \
                    value += *(const Lanes *)(end->addend + at);                                             \
                }                                                                                            \
                *(Lanes *)(end->output + at) = LARGER(lowest, SMALLER(highest, value));                      \
            }                                                                                                \
        }                                                                                                    \
    }

/* Makes the micro-kernel of a convolution whose rows are positions. */
#define POSITION_KERNEL(name, rows, vectors)                                                                 \
    TARGET static void name(const PositionTile *tile)                                                        \
    {                                                                                                        \
        enum { ROWS = (rows), VECTORS = (vectors) };                                                         \
        Lanes zeros = {0};                                                                                   \
        Lanes sums[ROWS][VECTORS];                                                                           \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                const float *from = tile->sums + row * tile->sums_step + n * LANES;                          \
                sums[row][n] = tile->begins ? zeros : *(const Lanes *)from;                                  \
            }                                                                                                \
        }                                                                                                    \
        const float *b = tile->b;                                                                            \
        const float *next = tile->next;                                                                      \
        for (int64_t k = 0; k < tile->depth; k++, b += VECTORS * LANES, next += ROWS) {                      \
            const float *a = tile->a + tile->taps[k];                                                        \
            Lanes right[VECTORS];                                                                            \
            __builtin_prefetch(next);                                                                        \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                right[n] = *(const Lanes *)(b + n * LANES);                                                  \
            }                                                                                                \
            UNROLL for (int64_t row = 0; row < ROWS; row++)                                                  \
            {                                                                                                \
                Lanes left = a[row] - zeros;                                                                 \
                UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                 \
                {                                                                                            \
                    sums[row][n] = FUSE(left, right[n], sums[row][n]);                                       \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        UNROLL for (int64_t row = 0; row < ROWS; row++)                                                      \
        {                                                                                                    \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                *(Lanes *)(tile->sums + row * tile->sums_step + n * LANES) = sums[row][n];                   \
            }                                                                                                \
        }                                                                                                    \
    }
