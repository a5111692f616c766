/* Micro-tiles of 12 × 32: 24 of the 32 registers hold sums. */
#ifdef __x86_64__
#include <immintrin.h>
#include <stddef.h>

#include "worker/cpu/product/microkernel_code.h"

enum { LANES = 16, PANEL_VECTORS = 2 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define TARGET __attribute__((target("avx512f")))
#define FUSE _mm512_fmadd_ps
#define FETCH(address) __builtin_prefetch(address)
/* All lanes are chosen: gcc 12 warns of what the forms without a mask do not set. */
#define LARGER(a, b) _mm512_maskz_max_ps(0xffff, a, b)
#define SMALLER(a, b) _mm512_maskz_min_ps(0xffff, a, b)

MICROKERNEL(rows_1, 1, 1)
MICROKERNEL(rows_2, 2, 1)
MICROKERNEL(rows_3, 3, 1)
MICROKERNEL(rows_4, 4, 1)
MICROKERNEL(rows_5, 5, 1)
MICROKERNEL(rows_6, 6, 1)
MICROKERNEL(rows_7, 7, 1)
MICROKERNEL(rows_8, 8, 1)
MICROKERNEL(rows_9, 9, 1)
MICROKERNEL(rows_10, 10, 1)
MICROKERNEL(rows_11, 11, 1)
MICROKERNEL(rows_12, 12, 1)
MICROKERNEL(rows_1_panels_4, 1, 4)
MICROKERNEL(rows_2_panels_2, 2, 2)
MICROKERNEL(rows_3_panels_2, 3, 2)
CONVOLUTION_KERNELS(1)
CONVOLUTION_KERNELS(2)
CONVOLUTION_KERNELS(3)
CONVOLUTION_KERNELS(4)
CONVOLUTION_KERNELS(5)
CONVOLUTION_KERNELS(6)
CONVOLUTION_KERNELS(7)
CONVOLUTION_KERNELS(8)
CONVOLUTION_KERNELS(9)
CONVOLUTION_KERNELS(10)
CONVOLUTION_KERNELS(11)
CONVOLUTION_KERNELS(12)
TAP_KERNEL(taps_1_wide, 1, 4 * PANEL_VECTORS)
TAP_KERNEL(taps_2_wide, 2, 2 * PANEL_VECTORS)
TAP_KERNEL(taps_3_wide, 3, 2 * PANEL_VECTORS)

const MicroKernels microkernels_avx512 = {
    .rows = 12,
    .has_wide_positions = true,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6, rows_7, rows_8, rows_9, rows_10, rows_11,
        rows_12},
    .several = {{0}, {rows_1_panels_4, 4}, {rows_2_panels_2, 2}, {rows_3_panels_2, 2}},
    .taps = {{NULL}, TAPS_AND_WIDE(1), TAPS_AND_WIDE(2), TAPS_AND_WIDE(3), TAPS(4), TAPS(5), TAPS(6), TAPS(7),
        TAPS(8), TAPS(9), TAPS(10), TAPS(11), TAPS(12)},
    .positions = {{NULL}, POSITIONS(1), POSITIONS(2), POSITIONS(3), POSITIONS(4), POSITIONS(5), POSITIONS(6),
        POSITIONS(7), POSITIONS(8), POSITIONS(9), POSITIONS(10), POSITIONS(11), POSITIONS(12)},
};
#endif
