/* The innermost loops of products with weights of four bits (shared/ops/quantize/blocks_rule.h): a few rows
 * of floats by a few rows of packed weights, which become floats in registers. Lane i of 16 sums the products
 * of every 16th pair of bytes' elements, in ascending order, by fused multiply-adds; the lanes are added in a
 * tree. So a sum has the same bits whatever rows are computed beside it, on every instruction set.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

enum {
    NIBBLE_LANES = 16,               /* bytes of weights that are taken at once */
    NIBBLE_GROUP = 2 * NIBBLE_LANES, /* weights in them; blocks are made of whole groups */
    NIBBLE_ROWS_MAX = 8,
    NIBBLE_COLUMNS_MAX = 4,
};

/* One row of weights. */
typedef struct NibbleRow {
    const uint8_t *bytes;
    const float *scales;  /* one for each block */
    const uint8_t *zeros; /* four bits for each block; NULL: all are 8 */
} NibbleRow;

typedef struct NibbleTile {
    /* Rows of floats, of whole blocks; in each group, the 16 even elements stand before the 16 odd ones. */
    const float *a;
    int64_t a_step;
    NibbleRow weights[NIBBLE_COLUMNS_MAX];
    int64_t blocks;
    int64_t block_groups; /* groups of a block */
    float *sums;          /* a row for each row of `a`, `sums_step` floats apart */
    int64_t sums_step;
} NibbleTile;

typedef void (*NibbleKernel)(const NibbleTile *tile);

typedef struct NibbleShape {
    int rows;
    int columns;
    NibbleKernel kernel;
} NibbleShape;

/* Returns the micro-kernel with the most rows, `rows` at most, for this many columns or for one. */
NibbleShape nibble_microkernel(int64_t rows, int64_t columns);

/* Arranges a row of `count` floats in groups, filled up with zeros to `whole` elements. */
void nibble_arrange(const float *row, int64_t count, int64_t whole, float *ret_row);
