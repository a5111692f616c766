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

static inline float
larger_of(float a, float b)
{
    return a > b ? a : b;
}

static inline float
smaller_of(float a, float b)
{
    return a < b ? a : b;
}

static inline Lanes
larger_lanes(Lanes a, Lanes b)
{
    return (Lanes){
        larger_of(a[0], b[0]), larger_of(a[1], b[1]), larger_of(a[2], b[2]), larger_of(a[3], b[3])};
}

static inline Lanes
smaller_lanes(Lanes a, Lanes b)
{
    return (Lanes){
        smaller_of(a[0], b[0]), smaller_of(a[1], b[1]), smaller_of(a[2], b[2]), smaller_of(a[3], b[3])};
}

#define TARGET
#define LARGER larger_lanes
#define SMALLER smaller_lanes
#define FUSE fuse_lanes
#define FETCH(address) (void)(address)

MICROKERNEL(rows_1, 1, 1)
MICROKERNEL(rows_2, 2, 1)
MICROKERNEL(rows_3, 3, 1)
MICROKERNEL(rows_4, 4, 1)
MICROKERNEL(rows_5, 5, 1)
MICROKERNEL(rows_6, 6, 1)
MICROKERNEL(rows_1_panels_2, 1, 2)
CONVOLUTION_KERNELS(1)
CONVOLUTION_KERNELS(2)
CONVOLUTION_KERNELS(3)
CONVOLUTION_KERNELS(4)
CONVOLUTION_KERNELS(5)
CONVOLUTION_KERNELS(6)
TAP_KERNEL(taps_1_wide, 1, 2 * PANEL_VECTORS)

const MicroKernels microkernels_plain = {
    .rows = 6,
    .panel_depth = 128,
    .columns = PANEL_VECTORS * LANES,
    .single = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6},
    .several = {{0}, {rows_1_panels_2, 2}},
    .taps = {{NULL}, TAPS_AND_WIDE(1), TAPS(2), TAPS(3), TAPS(4), TAPS(5), TAPS(6)},
    .positions = {{NULL}, POSITIONS(1), POSITIONS(2), POSITIONS(3), POSITIONS(4), POSITIONS(5), POSITIONS(6)},
};
