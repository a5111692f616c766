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
TAP_KERNEL(taps_7_half, 7, PANEL_VECTORS / 2)
TAP_KERNEL(taps_7, 7, PANEL_VECTORS)
TAP_KERNEL(taps_8_half, 8, PANEL_VECTORS / 2)
TAP_KERNEL(taps_8, 8, PANEL_VECTORS)
TAP_KERNEL(taps_9_half, 9, PANEL_VECTORS / 2)
TAP_KERNEL(taps_9, 9, PANEL_VECTORS)
TAP_KERNEL(taps_10_half, 10, PANEL_VECTORS / 2)
TAP_KERNEL(taps_10, 10, PANEL_VECTORS)
TAP_KERNEL(taps_11_half, 11, PANEL_VECTORS / 2)
TAP_KERNEL(taps_11, 11, PANEL_VECTORS)
TAP_KERNEL(taps_12_half, 12, PANEL_VECTORS / 2)
TAP_KERNEL(taps_12, 12, PANEL_VECTORS)
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
POSITION_KERNEL(positions_7_half, 7, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_7, 7, PANEL_VECTORS)
POSITION_KERNEL(positions_8_half, 8, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_8, 8, PANEL_VECTORS)
POSITION_KERNEL(positions_9_half, 9, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_9, 9, PANEL_VECTORS)
POSITION_KERNEL(positions_10_half, 10, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_10, 10, PANEL_VECTORS)
POSITION_KERNEL(positions_11_half, 11, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_11, 11, PANEL_VECTORS)
POSITION_KERNEL(positions_12_half, 12, PANEL_VECTORS / 2)
POSITION_KERNEL(positions_12, 12, PANEL_VECTORS)

const MicroKernels microkernels_avx512 = {
    .rows = 12,
    .has_wide_positions = true,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6, rows_7, rows_8, rows_9, rows_10, rows_11,
        rows_12},
    .several = {{0}, {rows_1_panels_4, 4}, {rows_2_panels_2, 2}, {rows_3_panels_2, 2}},
    .taps = {{NULL}, {taps_1_half, taps_1, taps_1_wide}, {taps_2_half, taps_2, taps_2_wide},
        {taps_3_half, taps_3, taps_3_wide}, {taps_4_half, taps_4}, {taps_5_half, taps_5},
        {taps_6_half, taps_6}, {taps_7_half, taps_7}, {taps_8_half, taps_8}, {taps_9_half, taps_9},
        {taps_10_half, taps_10}, {taps_11_half, taps_11}, {taps_12_half, taps_12}},
    .positions = {{NULL}, {positions_1_half, positions_1}, {positions_2_half, positions_2},
        {positions_3_half, positions_3}, {positions_4_half, positions_4}, {positions_5_half, positions_5},
        {positions_6_half, positions_6}, {positions_7_half, positions_7}, {positions_8_half, positions_8},
        {positions_9_half, positions_9}, {positions_10_half, positions_10}, {positions_11_half, positions_11},
        {positions_12_half, positions_12}},
};
#endif
