/* Micro-tiles of 6 × 16: twelve of the sixteen registers hold sums. */
#ifdef __x86_64__
#include <immintrin.h>
#include <stddef.h>

#include "worker/cpu/product/microkernel_code.h"

enum { LANES = 8, PANEL_VECTORS = 2 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define TARGET __attribute__((target("avx2,fma")))
#define FUSE _mm256_fmadd_ps

MICROKERNEL(rows_1, 1, 1)
MICROKERNEL(rows_2, 2, 1)
MICROKERNEL(rows_3, 3, 1)
MICROKERNEL(rows_4, 4, 1)
MICROKERNEL(rows_5, 5, 1)
MICROKERNEL(rows_6, 6, 1)
MICROKERNEL(rows_1_panels_4, 1, 4)
MICROKERNEL(rows_2_panels_2, 2, 2)
MICROKERNEL(rows_3_panels_2, 3, 2)

const MicroKernels microkernels_avx2 = {
    .rows = 6,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6},
    .several = {{0}, {rows_1_panels_4, rows_1_panels_4_taps, 4}, {rows_2_panels_2, rows_2_panels_2_taps, 2},
        {rows_3_panels_2, rows_3_panels_2_taps, 2}},
    .taps = {NULL, rows_1_taps, rows_2_taps, rows_3_taps, rows_4_taps, rows_5_taps, rows_6_taps},
};
#endif
