/* A filter in the order in which micro-kernels read it (TapTile). The inner dimension k, all taps of one
 * channel after those of another, is cut into blocks; in a block, rows (output channels of a group) are cut
 * evenly into micro-tiles; in a micro-tile, the numbers of its rows for one k lie side by side.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/convolve/lattice.h"

typedef struct FilterCut {
    int64_t rows;
    int64_t tiles; /* of rows: the first `larger` have `small` + 1, the others `small` */
    int64_t small;
    int64_t larger;
    int64_t depth; /* the inner dimension */
    int64_t block; /* the most of it at a time */
} FilterCut;

/* Cuts a filter with so many taps in each channel; blocks are whole channels where one is not too large. */
FilterCut filter_cut(int64_t rows, int64_t channels, int64_t taps, int64_t rows_max);

/* Returns the first row of a micro-tile; that of `tiles` is the number of rows. */
int64_t filter_row(const FilterCut *cut, int64_t tile);

/* Packs the filters of all groups, groups × rows × depth floats. */
void filter_pack(
    const FilterCut *cut, const ConvolveShape *shape, const Lattice *lattice, const float *filter, float *to);

/* Packs the filters of all groups for positions as rows: in panels of so many output channels, each of them
 * step by step of the inner dimension. The last panel is filled up with zeros to a half or a whole. */
void filter_pack_panels(const FilterCut *cut, const ConvolveShape *shape, const Lattice *lattice,
    const float *filter, int64_t panel, float *to);

/* Returns the floats that the panels of one group take. */
int64_t filter_panels_size(const FilterCut *cut, int64_t panel);
