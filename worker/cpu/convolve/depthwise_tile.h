/* Micro-kernels of depthwise convolutions: DEPTHWISE_LINES lines of outputs and a few vectors of columns at
 * once. A vector of input that several lines need is loaded once. Each sum is the chain of planes.h.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/vector/functions.h"

enum {
    DEPTHWISE_LINES = 4,
    DEPTHWISE_SIZE_MIN = 5, /* filters of 5 × 5 and 7 × 7: of smaller ones, copying the input takes most … */
    DEPTHWISE_SIZES = 2,
    DEPTHWISE_STRIDES = 2, /* … of stride 1 and 2 in both dimensions */
    DEPTHWISE_VECTORS = 2, /* the most of them */
};

typedef struct DepthwiseTile {
    const float *from;   /* the first column, in a lattice */
    const int64_t *taps; /* lattice_taps() of one channel */
    int64_t line_step;   /* from a line of the lattice to the next */
    const float *filter;
    float bias;
    Bounds bounds;
    float *output;
    int64_t output_step; /* from a line of the output to the next */
    int64_t count;       /* columns that are stored; the others are computed in vain */
} DepthwiseTile;

typedef void (*DepthwiseKernel)(const DepthwiseTile *tile);

/* The kernels of one instruction set by size (5, 7), stride (1, 2) and vectors (1, 2). */
typedef struct DepthwiseKernels {
    int64_t lanes;
    DepthwiseKernel tiles[DEPTHWISE_SIZES][DEPTHWISE_STRIDES][DEPTHWISE_VECTORS];
} DepthwiseKernels;

/* Returns those of the instruction set in use; NULL where it has no vectors with fused multiply-add. */
const DepthwiseKernels *depthwise_kernels_choose(void);

#ifdef __x86_64__
extern const DepthwiseKernels depthwise_kernels_avx2;
extern const DepthwiseKernels depthwise_kernels_avx512;
#endif
