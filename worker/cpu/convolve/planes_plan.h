/* Plans of convolutions, each for one shape. The shape alone says into which tiles the output is cut, so that
 * the same sums are made on any number of threads.
 *
 * Threads: any. */
#pragma once

#include <stddef.h>

#include "worker/cpu/convolve/filter.h"
#include "worker/cpu/convolve/lattice.h"
#include "worker/cpu/convolve/pixels.h"
#include "worker/cpu/convolve/shape.h"
#include "worker/cpu/product/microkernel.h"

/* Tiles are those of all images and groups. */
typedef struct PlanesPlan {
    const MicroKernels *kernels;
    const ConvolveShape *shape;
    Lattice lattice;
    FilterCut filter;
    int64_t outputs;      /* positions of the output */
    int64_t entries;      /* images × groups */
    int64_t columns;      /* of a tile, whole panels */
    int64_t column_tiles; /* of an entry */
    int64_t row_tiles;    /* of an entry */
    int64_t group;        /* tiles that a thread takes at once */
    bool is_alone;        /* a tile computes an entry, and copies its input itself */
    bool is_depthwise;    /* a tile computes entries of one channel (depthwise.h) … */
    bool reads_input;     /* … from the input itself */
    bool is_turned;       /* positions are rows (pixels.h) */
    PixelCut pixels;
    bool is_direct;      /* sums are kept in the output meanwhile: its columns have no gaps */
    bool is_lined;       /* lines of outputs are computed one by one: the gaps between them are left out */
    int64_t lines;       /* of an entry */
    int64_t filter_size; /* floats of a group's packed filter */
    int64_t copy_size;   /* floats of one entry's lattice; 0: the input is the lattice */
    int64_t panel_size;  /* floats that a tile takes from the device: for a copied panel … */
    int64_t sums_size;   /* … and sums */
} PlanesPlan;

/* Returns the plan of a shape, which must outlive it. */
PlanesPlan planes_plan(const ConvolveShape *shape);

/* Returns the number of tiles. */
int64_t planes_plan_tiles(const PlanesPlan *plan);

/* Returns the bytes that a thread takes while it computes. */
size_t planes_plan_room(const PlanesPlan *plan);

/* Return the bytes of all copies of the input, of the packed filter, and of the offsets of taps: those of the
 * lattice, then those of a packed panel. */
size_t planes_plan_copy(const PlanesPlan *plan);
size_t planes_plan_filter(const PlanesPlan *plan);
size_t planes_plan_taps(const PlanesPlan *plan);
