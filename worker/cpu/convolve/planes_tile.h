/* A tile of a convolution's output: its sums by micro-kernels, and what is done to them behind.
 *
 * Threads: tiles of one run may be computed at once. */
#pragma once

#include "worker/cpu/convolve/planes_plan.h"
#include "worker/cpu/finish/finish.h"
#include "worker/runtime/device.h"

/* A run of a convolution. */
typedef struct PlanesRun {
    const PlanesPlan *plan;
    const ConvolveOperands *operands;
    const float *filter; /* packed */
    const int64_t *taps;
    FinishLimits limits; /* of sums that are kept in the output */
    float *copies;       /* lattices of all entries; NULL: there are none, or each tile makes its own */
    Device *device;
    int32_t has_failed; /* atomic: the device had no memory for a tile */
} PlanesRun;

/* A tile of one entry on its way. */
typedef struct PlanesTile {
    const PlanesRun *run;
    const float *lattice;
    const float *filter; /* of the entry's group */
    const float *bias;   /* of the group's channels; NULL: none */
    float *output;       /* of the entry */
    int64_t first;       /* columns, micro-tiles of positions, or lines */
    int64_t end;
    int64_t first_rows; /* micro-tiles of the filter */
    int64_t end_rows;
    float *panel_room;
    float *sums_room;
} PlanesTile;

/* Computes the tile's outputs. */
void planes_tile_run(const PlanesTile *tile);
