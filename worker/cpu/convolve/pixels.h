/* A convolution whose micro-tiles have positions of the output as rows and output channels as columns: the
 * numbers of the input are read where they lie in the lattice, and the filter is packed in panels of
 * channels. Sums are turned when they are stored. It computes the same chains as with channels as rows, and
 * is faster where positions do not fill panels, or are many short lines.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/convolve/filter.h"
#include "worker/cpu/product/microkernel.h"

/* A cut of the positions and channels of an entry. Micro-tiles of positions are numbered line by line. */
typedef struct PixelCut {
    int64_t line;  /* positions that lie side by side */
    int64_t parts; /* micro-tiles of a line: the first `larger` have `small` + 1 positions, the others … */
    int64_t small; /* … `small` */
    int64_t larger;
    int64_t tiles;  /* micro-tiles of all lines */
    int64_t panels; /* of channels; the last one may be half a panel */
    int64_t most;   /* the most micro-tiles whose sums are kept at once */
} PixelCut;

PixelCut pixel_cut(const MicroKernels *kernels, const Lattice *lattice, int64_t channels);

/* Returns the number of floats that a tile works in. */
int64_t pixel_room(const MicroKernels *kernels, const PixelCut *cut);

/* A tile: some micro-tiles of positions by some panels of channels. */
typedef struct PixelTile {
    const MicroKernels *kernels;
    const PixelCut *cut;
    const Lattice *lattice;
    const FilterCut *filter;
    const ConvolveShape *shape;
    const int64_t *taps;
    const float *input;  /* the lattice's numbers */
    const float *panels; /* the filter of the group, packed */
    const float *bias;   /* of the group's channels; NULL: none */
    const float *addend; /* of the entry; NULL: none */
    float *output;       /* of the entry */
    int64_t first;       /* micro-tiles, at most `most` */
    int64_t end;
    int64_t first_panel;
    int64_t end_panel;
    float *room;
} PixelTile;

void pixel_run(const PixelTile *tile);
