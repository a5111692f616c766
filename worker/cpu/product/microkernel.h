/* The innermost loops of a product of float32 matrices: a few rows of the output by one or several panels of
 * columns, which stay in registers while the inner dimension passes. One set of them for each instruction
 * set; all give the same bits, since each output is one chain of fused multiply-adds:
 *
 *     for k: sums[row][column] = fmaf(a[row][k], b[k][column], sums[row][column])
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    MICROKERNEL_DEPTH = 256, /* the most of the inner dimension at a time */
    /* The distance of rows of a, in floats: no power of two, so that the rows of a micro-tile do not fall
     * into one set of a cache. */
    MICROKERNEL_ROW_STEP = MICROKERNEL_DEPTH + 16,
    MICROKERNEL_ROWS_MAX = 12,
};

/* A micro-tile: the rows and panels that a micro-kernel is made for. Steps are in floats. */
typedef struct MicroTile {
    const float *a; /* rows, MICROKERNEL_ROW_STEP apart */
    const float *b; /* the first panel */
    int64_t b_step; /* from a row of a panel to the next */
    int64_t panel_step;
    int64_t depth;
    float *sums; /* panels lie side by side */
    int64_t sums_step;
    bool begins; /* sums begin with 0; otherwise they go on from what is in `sums` */
} MicroTile;

typedef void (*MicroKernel)(const MicroTile *tile);

/* The end of finished sums: output = the bias of the row + the sum (+ an addend), each rounded by itself,
 * within limits. */
typedef struct TapEnd {
    const float *bias;   /* of each row */
    const float *addend; /* laid out like the output; NULL: none */
    float lowest;
    float highest;
    float *output;
    int64_t output_step;
} TapEnd;

/* A micro-tile of a convolution: rows of b lie wherever its taps say, and a has, for each step of the inner
 * dimension, the numbers of its rows side by side. */
typedef struct TapTile {
    const float *a;
    const float *next_a; /* what is fetched into the cache meanwhile, as many numbers as `a` has */
    const float *b;
    const int64_t *taps; /* the offset of each row of b, in floats */
    int64_t depth;
    float *sums;
    int64_t sums_step;
    bool begins;
    const TapEnd *end; /* NULL: the inner dimension goes on */
} TapTile;

typedef void (*TapKernel)(const TapTile *tile);

/* A micro-tile of a convolution whose rows are positions: their numbers for each step of the inner dimension
 * lie side by side wherever its taps say, and b is a panel, or half of one, row by row. */
typedef struct PositionTile {
    const float *a;
    const int64_t *taps; /* the offset of each step's numbers of a, in floats */
    const float *b;
    const float *next; /* what is fetched into the cache meanwhile */
    int64_t rounds;    /* of the inner dimension: so many times … */
    int64_t steps;     /* … so many steps of it … */
    int64_t gap;       /* … and so many that are left out */
    float *sums;
    int64_t sums_step;
    bool begins;
} PositionTile;

typedef void (*PositionKernel)(const PositionTile *tile);

/* The widths that there are micro-kernels of a convolution for. */
typedef enum TapWidth { TAP_HALF, TAP_WHOLE, TAP_WIDE, TAP_WIDTHS } TapWidth;

/* The micro-kernels of an instruction set, by their number of rows. */
typedef struct MicroKernels {
    int rows;    /* the most that there is a micro-kernel for */
    int columns; /* of a panel */
    /* A panel of a convolution with so many steps of the inner dimension or more stays in the L1 cache while
     * rows pass by it; with fewer, and where this is 0, rows stay while panels pass. */
    int panel_depth;
    bool has_wide_positions; /* convolutions with positions as rows are as fast as oneDNN where the inner
                                dimension is large */
    MicroKernel single[MICROKERNEL_ROWS_MAX + 1]; /* of one panel */
    /* Of several panels, for so few rows that those of one panel would wait for each other's sums. */
    struct {
        MicroKernel kernel; /* NULL: one panel is enough */
        int panels;
    } several[MICROKERNEL_ROWS_MAX + 1];
    /* Kernels for half a panel, for one, and for as many as `several` has, or NULL. */
    TapKernel taps[MICROKERNEL_ROWS_MAX + 1][TAP_WIDTHS];
    /* Kernels for half a panel and for one. */
    PositionKernel positions[MICROKERNEL_ROWS_MAX + 1][TAP_WIDE];
} MicroKernels;

extern const MicroKernels microkernels_plain;
#ifdef __x86_64__
extern const MicroKernels microkernels_avx2;
extern const MicroKernels microkernels_avx512;
#endif

/* Returns those of the best instruction set (isa.h). */
const MicroKernels *microkernels_choose(void);
