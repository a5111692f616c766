/* A convolution of one channel to one channel, of which a depthwise convolution has one for each channel:
 * there is too little to multiply for the micro-kernels of products, but the sums are the same chains
 * (planes.h). The usual square filters have micro-kernels that read the input itself (depthwise_tile.h);
 * others read a lattice.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/convolve/depthwise_tile.h"
#include "worker/cpu/convolve/lattice.h"

typedef struct Depthwise {
    const Lattice *lattice;
    const int64_t *taps; /* lattice_taps() of one channel */
    int64_t tap_count;
    FinishLimits limits;
    const DepthwiseKernels *kernels;
    const DepthwiseKernel *tiles; /* those of `kernels` for the filter; NULL: there are none */
} Depthwise;

typedef struct DepthwiseChannel {
    /* The channel as it lies in the input where depthwise_is_direct(), else as in a lattice, with
     * LATTICE_SLACK readable floats behind it. */
    const float *from;
    const float *filter;
    float bias;
    float *room; /* depthwise_room() floats; zeros where depthwise_is_direct(), which stay */
    float *output;
} DepthwiseChannel;

/* Returns whether depthwise_run() reads the input itself. */
bool depthwise_is_direct(const Lattice *lattice);

/* Returns the floats of room that depthwise_run() needs. */
int64_t depthwise_room(const Lattice *lattice);

/* Returns what all channels of a convolution have in common: it is asked once, since a small channel takes no
 * longer than the questions. */
Depthwise depthwise_of(const Lattice *lattice, const int64_t *taps, int64_t tap_count, FinishLimits limits);

/* Computes the sums of one channel, adds the bias and limits them. */
void depthwise_run(const Depthwise *depthwise, const DepthwiseChannel *channel);
