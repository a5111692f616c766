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

/* Opens the loops over all sums. */
#define EACH_SUM UNROLL for (int64_t row = 0; row < ROWS; row++) UNROLL for (int64_t n = 0; n < VECTORS; n++)

/* Declares the sums of a micro-tile. */
#define SUMS(rows, vectors)                                                                                  \
    enum { ROWS = (rows), VECTORS = (vectors) };                                                             \
    Lanes zeros = {0};                                                                                       \
    Lanes sums[ROWS][VECTORS];

/* Takes the sums that there are. */
#define TAKE_SUMS(tile)                                                                                      \
    EACH_SUM                                                                                                 \
    {                                                                                                        \
        const float *from = (tile)->sums + row * (tile)->sums_step + n * LANES;                              \
        sums[row][n] = (tile)->begins ? zeros : *(const Lanes *)from;                                        \
    }

/* Reads the vectors of the right side; `place` is that of vector n. */
#define READ_RIGHT(place)                                                                                    \
    Lanes right[VECTORS];                                                                                    \
    UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                             \
    {                                                                                                        \
        right[n] = *(const Lanes *)(place);                                                                  \
    }

/* Adds the products of the vectors and the numbers of the left side; `number` is that of a row. */
#define ADD_PRODUCTS(number)                                                                                 \
    UNROLL for (int64_t row = 0; row < ROWS; row++)                                                          \
    {                                                                                                        \
        Lanes left = (number)-zeros;                                                                         \
        UNROLL for (int64_t n = 0; n < VECTORS; n++)                                                         \
        {                                                                                                    \
            sums[row][n] = FUSE(left, right[n], sums[row][n]);                                               \
        }                                                                                                    \
    }

#define KEEP_SUMS(tile)                                                                                      \
    EACH_SUM                                                                                                 \
    {                                                                                                        \
        *(Lanes *)((tile)->sums + row * (tile)->sums_step + n * LANES) = sums[row][n];                       \
    }

/* Fetches what the sums will be stored to and added to. */
#define FETCH_END(end)                                                                                       \
    UNROLL for (int64_t row = 0; row < ROWS; row++)                                                          \
    {                                                                                                        \
        int64_t first = row * (end)->output_step;                                                            \
        int64_t last = first + (int64_t)VECTORS * LANES - 1;                                                 \
        __builtin_prefetch((end)->output + first, 1);                                                        \
        __builtin_prefetch((end)->output + last, 1);                                                         \
        if ((end)->addend != NULL) {                                                                         \
            __builtin_prefetch((end)->addend + first);                                                       \
            __builtin_prefetch((end)->addend + last);                                                        \
        }                                                                                                    \
    }

/* Stores the sums with bias, addend and limits. */
#define STORE_END(end)                                                                                       \
    Lanes lowest = (end)->lowest - zeros;                                                                    \
    Lanes highest = (end)->highest - zeros;                                                                  \
    EACH_SUM                                                                                                 \
    {                                                                                                        \
        int64_t at = row * (end)->output_step + n * LANES;                                                   \
        Lanes value = sums[row][n] + (end)->bias[row];                                                       \
        if ((end)->addend != NULL) {                                                                         \
            value += *(const Lanes *)((end)->addend + at);                                                   \
        }                                                                                                    \
        *(Lanes *)((end)->output + at) = LARGER(lowest, SMALLER(highest, value));                            \
    }

/* Makes the micro-kernel of a product. */
#define MICROKERNEL(name, rows, panels)                                                                      \
    TARGET static void name(const MicroTile *tile)                                                           \
    {                                                                                                        \
        SUMS(rows, (panels)*PANEL_VECTORS)                                                                   \
        TAKE_SUMS(tile)                                                                                      \
        const float *a = tile->a;                                                                            \
        for (int64_t k = 0; k < tile->depth; k++, a++) {                                                     \
            const float *b = tile->b + k * tile->b_step;                                                     \
            READ_RIGHT(b + n / PANEL_VECTORS * tile->panel_step + n % PANEL_VECTORS * LANES)                 \
            ADD_PRODUCTS(a[row * MICROKERNEL_ROW_STEP])                                                      \
        }                                                                                                    \
        KEEP_SUMS(tile)                                                                                      \
    }

/* Makes the micro-kernel of a convolution. */
#define TAP_KERNEL(name, rows, vectors)                                                                      \
    TARGET static void name(const TapTile *tile)                                                             \
    {                                                                                                        \
        SUMS(rows, vectors)                                                                                  \
        const TapEnd *end = tile->end;                                                                       \
        if (end != NULL) {                                                                                   \
            FETCH_END(end)                                                                                   \
        }                                                                                                    \
        TAKE_SUMS(tile)                                                                                      \
        const float *a = tile->a;                                                                            \
        int64_t next = tile->next_a - tile->a;                                                               \
        for (int64_t k = 0; k < tile->depth; k++, a += ROWS) {                                               \
            const float *b = tile->b + tile->taps[k];                                                        \
            FETCH(a + next);                                                                                 \
            READ_RIGHT(b + n * LANES)                                                                        \
            ADD_PRODUCTS(a[row])                                                                             \
        }                                                                                                    \
        if (end == NULL) {                                                                                   \
            KEEP_SUMS(tile)                                                                                  \
        } else {                                                                                             \
            STORE_END(end)                                                                                   \
        }                                                                                                    \
    }

/* Makes the micro-kernel of a convolution whose rows are positions. */
#define POSITION_KERNEL(name, rows, vectors)                                                                 \
    TARGET static void name(const PositionTile *tile)                                                        \
    {                                                                                                        \
        SUMS(rows, vectors)                                                                                  \
        TAKE_SUMS(tile)                                                                                      \
        const float *b = tile->b;                                                                            \
        const float *next = tile->next;                                                                      \
        const int64_t *taps = tile->taps;                                                                    \
        for (int64_t round = 0; round < tile->rounds; round++) {                                             \
            for (int64_t k = 0; k < tile->steps; k++, b += (int64_t)VECTORS * LANES, next += ROWS) {         \
                const float *a = tile->a + *taps++;                                                          \
                __builtin_prefetch(next);                                                                    \
                READ_RIGHT(b + n * LANES)                                                                    \
                ADD_PRODUCTS(a[row])                                                                         \
            }                                                                                                \
            taps += tile->gap;                                                                               \
            b += tile->gap * VECTORS * LANES;                                                                \
        }                                                                                                    \
        KEEP_SUMS(tile)                                                                                      \
    }

/* Makes those of a convolution for so many rows, and names them for the tables. */
#define CONVOLUTION_KERNELS(rows)                                                                            \
    TAP_KERNEL(taps_##rows##_half, rows, PANEL_VECTORS / 2)                                                  \
    TAP_KERNEL(taps_##rows, rows, PANEL_VECTORS)                                                             \
    POSITION_KERNEL(positions_##rows##_half, rows, PANEL_VECTORS / 2)                                        \
    POSITION_KERNEL(positions_##rows, rows, PANEL_VECTORS)
#define TAPS(rows)                                                                                           \
    {                                                                                                        \
        taps_##rows##_half, taps_##rows                                                                      \
    }
#define TAPS_AND_WIDE(rows)                                                                                  \
    {                                                                                                        \
        taps_##rows##_half, taps_##rows, taps_##rows##_wide                                                  \
    }
#define POSITIONS(rows)                                                                                      \
    {                                                                                                        \
        positions_##rows##_half, positions_##rows                                                            \
    }
