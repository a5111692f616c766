/* Micro-kernels of depthwise convolutions: DEPTHWISE_LINES lines of outputs and one vector or two of columns
 * at once, straight from the input: padding is what a load leaves out. A vector of input that several lines
 * need is loaded once. Each sum is the chain of planes.h.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/vector/functions.h"

enum {
    DEPTHWISE_LINES = 7,
    DEPTHWISE_SIZE_MIN = 3, /* filters of 3 × 3, 5 × 5 and 7 × 7 … */
    DEPTHWISE_SIZES = 3,
    DEPTHWISE_SIZE_MAX = 7,
    DEPTHWISE_STRIDES = 2, /* … of stride 1 and 2 in both dimensions */
    DEPTHWISE_ROWS_MAX = (DEPTHWISE_LINES - 1) * DEPTHWISE_STRIDES + DEPTHWISE_SIZE_MAX,
};

typedef struct DepthwiseTile {
    /* The lines of the input that the lines of outputs need, from their first columns on; lines of zeros
     * where there is padding. */
    const float *rows[DEPTHWISE_ROWS_MAX];
    int32_t row_count;
    int32_t width; /* of the input */
    int32_t first; /* the column of the input that the first output's first tap reads: negative in padding */
    const float *filter;
    float bias;
    Bounds bounds;
    float *output;
    int64_t output_step; /* from a line of the output to the next */
    int64_t lines;       /* that are stored; the others are computed in vain … */
    int64_t count;       /* … as are columns beyond so many */
} DepthwiseTile;

typedef void (*DepthwiseKernel)(const DepthwiseTile *tile);

/* Kernels by size (3, 5, 7), stride (1, 2) and place (at an edge, within). */
typedef struct DepthwiseKernels {
    int64_t edge;  /* columns of a tile at an edge … */
    int64_t inner; /* … and within */
    DepthwiseKernel tiles[DEPTHWISE_SIZES][DEPTHWISE_STRIDES][2];
} DepthwiseKernels;

/* Returns those of the instruction set in use for lines of so many outputs; NULL where it has no vectors with
 * fused multiply-add. */
const DepthwiseKernels *depthwise_kernels_choose(int64_t columns);

#ifdef __x86_64__
extern const DepthwiseKernels depthwise_kernels_avx2;
extern const DepthwiseKernels depthwise_kernels_avx512;
extern const DepthwiseKernels depthwise_kernels_avx512_narrow;
#endif
