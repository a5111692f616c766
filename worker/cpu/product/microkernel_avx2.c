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
TAP_KERNEL(taps_1_half, 1, PANEL_VECTORS / 2)
TAP_KERNEL(taps_1, 1, PANEL_VECTORS)
TAP_KERNEL(taps_1_wide, 1, 4 * PANEL_VECTORS)
TAP_KERNEL(taps_2_half, 2, PANEL_VECTORS / 2)
TAP_KERNEL(taps_2, 2, PANEL_VECTORS)
TAP_KERNEL(taps_2_wide, 2, 2 * PANEL_VECTORS)
TAP_KERNEL(taps_3_half, 3, PANEL_VECTORS / 2)
TAP_KERNEL(taps_3, 3, PANEL_VECTORS)
TAP_KERNEL(taps_3_wide, 3, 2 * PANEL_VECTORS)
TAP_KERNEL(taps_4_half, 4, PANEL_VECTORS / 2)
TAP_KERNEL(taps_4, 4, PANEL_VECTORS)
TAP_KERNEL(taps_5_half, 5, PANEL_VECTORS / 2)
TAP_KERNEL(taps_5, 5, PANEL_VECTORS)
TAP_KERNEL(taps_6_half, 6, PANEL_VECTORS / 2)
TAP_KERNEL(taps_6, 6, PANEL_VECTORS)
POSITION_KERNEL(positions_1_half, 1, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_1, 1, PANEL_VECTORS)
POSITION_KERNEL(positions_2_half, 2, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_2, 2, PANEL_VECTORS)
POSITION_KERNEL(positions_3_half, 3, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_3, 3, PANEL_VECTORS)
POSITION_KERNEL(positions_4_half, 4, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_4, 4, PANEL_VECTORS)
POSITION_KERNEL(positions_5_half, 5, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_5, 5, PANEL_VECTORS)
POSITION_KERNEL(positions_6_half, 6, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_6, 6, PANEL_VECTORS)

const MicroKernels microkernels_avx2 = {
    .rows = 6,
    .panel_depth = 128,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6},
    .several = {{0}, {rows_1_panels_4, 4}, {rows_2_panels_2, 2}, {rows_3_panels_2, 2}},
    .taps = {{NULL}, {taps_1_half, taps_1, taps_1_wide}, {taps_2_half, taps_2, taps_2_wide},
        {taps_3_half, taps_3, taps_3_wide}, {taps_4_half, taps_4}, {taps_5_half, taps_5},
        {taps_6_half, taps_6}},
    .positions = {{NULL}, {positions_1_half, positions_1}, {positions_2_half, positions_2},
        {positions_3_half, positions_3}, {positions_4_half, positions_4}, {positions_5_half, positions_5},
        {positions_6_half, positions_6}},
};
#endif
