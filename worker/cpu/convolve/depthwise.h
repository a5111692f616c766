/* A convolution of one channel to one channel, of which a depthwise convolution has one for each channel:
 * there is too little to multiply for the micro-kernels of products, but the sums are the same chains
 * (planes.h).
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/convolve/lattice.h"

typedef struct Depthwise {
    const Lattice *lattice;
    const int64_t *taps; /* lattice_taps() of one channel */
    int64_t tap_count;
    FinishLimits limits;
} Depthwise;

/* Returns the floats of room that depthwise_run() needs. */
int64_t depthwise_room(const Lattice *lattice);

/* Computes the sums of one channel, which lies in `from` as in a lattice, adds the bias and limits them. The
 * same channel has LATTICE_SLACK readable floats behind it. */
void depthwise_run(const Depthwise *depthwise, const float *from, const float *filter, float bias,
    float *room, float *output);
