/* Micro-tiles of 6 × 16: twelve of the sixteen registers hold sums. */
#ifdef __x86_64__
#include <immintrin.h>
#include <stddef.h>

#include "worker/cpu/product/microkernel_code.h"

enum { LANES = 8, PANEL_VECTORS = 2 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define TARGET __attribute__((target("avx2,fma")))
#define FUSE _mm256_fmadd_ps
#define FETCH(address) (void)(address)
#define LARGER _mm256_max_ps
#define SMALLER _mm256_min_ps

MICROKERNEL(rows_1, 1, 1)
MICROKERNEL(rows_2, 2, 1)
MICROKERNEL(rows_3, 3, 1)
MICROKERNEL(rows_4, 4, 1)
MICROKERNEL(rows_5, 5, 1)
MICROKERNEL(rows_6, 6, 1)
MICROKERNEL(rows_1_panels_4, 1, 4)
MICROKERNEL(rows_2_panels_2, 2, 2)
MICROKERNEL(rows_3_panels_2, 3, 2)
CONVOLUTION_KERNELS(1)
CONVOLUTION_KERNELS(2)
CONVOLUTION_KERNELS(3)
CONVOLUTION_KERNELS(4)
CONVOLUTION_KERNELS(5)
CONVOLUTION_KERNELS(6)
TAP_KERNEL(taps_1_wide, 1, 4 * PANEL_VECTORS)
TAP_KERNEL(taps_2_wide, 2, 2 * PANEL_VECTORS)
TAP_KERNEL(taps_3_wide, 3, 2 * PANEL_VECTORS)

const MicroKernels microkernels_avx2 = {
    .rows = 6,
    .panel_depth = 128,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6},
    .several = {{0}, {rows_1_panels_4, 4}, {rows_2_panels_2, 2}, {rows_3_panels_2, 2}},
    .taps = {{NULL}, TAPS_AND_WIDE(1), TAPS_AND_WIDE(2), TAPS_AND_WIDE(3), TAPS(4), TAPS(5), TAPS(6)},
    .positions = {{NULL}, POSITIONS(1), POSITIONS(2), POSITIONS(3), POSITIONS(4), POSITIONS(5), POSITIONS(6)},
};
#endif
