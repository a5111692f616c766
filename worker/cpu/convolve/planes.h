/* float32 convolutions of images with the channels first, on the micro-kernels of products: rows are output
 * channels, columns are positions of the output (lattice.h), or the other way round (pixels.h). Each sum is
 * one chain of fused multiply-adds from 0 on, over the channels of its group in ascending order and over the
 * filter's positions in each of them, padding being zeros:
 *
 *     for channel, position: sum = fmaf(filter[output][channel][position], input[…], sum)
 *
 * So its bits depend neither on the other outputs nor on the number of threads or the instruction set. Then
 * the bias is added, rounded by itself, and the finish follows.
 *
 * Positions of the filter that are above or below the input for a whole line of outputs may be left out
 * (lattice_line_taps()): adding zeros changes no sum but one that has underflowed to -0.
 *
 * A constant filter is packed once, when it is first used.
 *
 * Ownership: planes_new() … planes_free(); a constant filter must outlive the Planes.
 * Threads:   planes_run() on any thread, several at once.
 * Errors:    RESOURCE_EXHAUSTED when the device has no memory to work in. */
#pragma once

#include "worker/cpu/convolve/shape.h"
#include "worker/runtime/device.h"

typedef struct Planes Planes;

MUST_USE Status planes_new(Call *call, Planes **ret_planes);
void planes_free(Planes *planes); /* NULL is allowed */

/* Says that the filter is always this one. Called before the first run. */
void planes_set_filter(Planes *planes, const float *filter);

/* Returns whether planes_run() should compute a convolution of this shape: the channels come first, and
 * oneDNN is not faster. A filter with numbers that are not finite (are_finite()) is left to others
 * where there is padding: such numbers must not meet its zeros. */
bool planes_can(const ConvolveShape *shape);

/* Computes one convolution; no dimension is 0. */
MUST_USE Status planes_run(
    Call *call, Planes *planes, Device *device, const ConvolveShape *shape, const ConvolveOperands *operands);

/* Returns the bytes that planes_run() takes from the device when all its threads work. */
uint64_t planes_scratch(const Planes *planes, const Device *device, const ConvolveShape *shape);
