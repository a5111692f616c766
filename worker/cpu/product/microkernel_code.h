/* The code of micro-kernels (microkernel.h), written once. A file that makes them for an instruction set
 * names its vectors before it uses MICROKERNEL():
 *
 *     Lanes             a vector of LANES floats that may lie anywhere
 *     PANEL_VECTORS     vectors in a row of a panel
 *     TARGET            the attribute that names the instruction set
 *     FUSE(a, b, c)     a × b + c, rounded once
 *
 * All loops but the one over the inner dimension are unrolled, so that sums stay in registers. */
#pragma once

#include "worker/cpu/product/microkernel.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* `Tile` is what the micro-kernel works on; row `row` of a has its number for a step of the inner dimension
 * at a[left], and the next step's is a_step further; `right` is where that step's row of b lies. */
#define MICROKERNEL_LOOPS(name, Tile, rows, panels, left_at, a_step, right_at)                               \
    TARGET static void name(const Tile *tile)                                                                \
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
        for (int64_t k = 0; k < tile->depth; k++, a += (a_step)) {                                           \
            const float *b = tile->b + (right_at);                                                           \
            Lanes right[VECTORS];                                                                            \
            UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                     \
            {                                                                                                \
                const float *panel = b + n / PANEL_VECTORS * tile->panel_step;                               \
                right[n] = *(const Lanes *)(panel + n % PANEL_VECTORS * LANES);                              \
            }                                                                                                \
            UNROLL for (int64_t row = 0; row < ROWS; row++)                                                  \
            {                                                                                                \
                Lanes left = a[left_at] - zeros;                                                             \
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

/* Makes the micro-kernel of a product, `name`, and that of a convolution, `name`_taps. */
#define MICROKERNEL(name, rows, panels)                                                                      \
    MICROKERNEL_LOOPS(name, MicroTile, rows, panels, row *MICROKERNEL_ROW_STEP, 1, k * tile->b_step)         \
    MICROKERNEL_LOOPS(name##_taps, TapTile, rows, panels, row, ROWS, tile->taps[k])
