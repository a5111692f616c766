/* Micro-tiles of 12 × 32: 24 of the 32 registers hold sums. */
#ifdef __x86_64__
#include <immintrin.h>
#include <stddef.h>

#include "worker/cpu/product/microkernel_code.h"

enum { LANES = 16, PANEL_VECTORS = 2 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define TARGET __attribute__((target("avx512f")))
#define FUSE _mm512_fmadd_ps

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

const MicroKernels microkernels_avx512 = {
    .rows = 12,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6, rows_7, rows_8, rows_9, rows_10, rows_11,
        rows_12},
    .several = {{0}, {rows_1_panels_4, rows_1_panels_4_taps, 4}, {rows_2_panels_2, rows_2_panels_2_taps, 2},
        {rows_3_panels_2, rows_3_panels_2_taps, 2}},
    .taps = {NULL, rows_1_taps, rows_2_taps, rows_3_taps, rows_4_taps, rows_5_taps, rows_6_taps, rows_7_taps,
        rows_8_taps, rows_9_taps, rows_10_taps, rows_11_taps, rows_12_taps},
};
#endif
