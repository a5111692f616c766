/* Micro-tiles of 6 × 16 for every other processor: 24 of the 32 registers of one with NEON hold sums. An x86
 * processor without FMA computes fmaf() in software, slowly and to the same bits. */
#include <math.h>
#include <stddef.h>
#ifdef __aarch64__
#include <arm_neon.h>
#endif

#include "worker/cpu/product/microkernel_code.h"

enum { LANES = 4, PANEL_VECTORS = 4 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

static inline Lanes
fuse_lanes(Lanes a, Lanes b, Lanes c)
{
#ifdef __aarch64__
    return vfmaq_f32(c, a, b);
#else
    return (Lanes){
        fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
#endif
}

#define TARGET
#define FUSE fuse_lanes

MICROKERNEL(rows_1, 1, 1)
MICROKERNEL(rows_2, 2, 1)
MICROKERNEL(rows_3, 3, 1)
MICROKERNEL(rows_4, 4, 1)
MICROKERNEL(rows_5, 5, 1)
MICROKERNEL(rows_6, 6, 1)
MICROKERNEL(rows_1_panels_2, 1, 2)

const MicroKernels microkernels_plain = {
    .rows = 6,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6},
    .several = {{0}, {rows_1_panels_2, rows_1_panels_2_taps, 2}},
    .taps = {NULL, rows_1_taps, rows_2_taps, rows_3_taps, rows_4_taps, rows_5_taps, rows_6_taps},
};
