/* float32 convolutions on oneDNN in one to three spatial dimensions. They are cut into tiles of output
 * rows (positions of the first spatial dimension), by the shape alone, which the device's threads share.
 *
 * oneDNN computes with the channels last, which is twice as fast as channels first; images with the
 * channels first are transposed on the way in, and tile by tile on the way out.
 *
 * Ownership: convolve_new() … convolve_free(); a constant filter must outlive the Convolve.
 * Threads:   convolve_run() on any thread, several at once. */
#pragma once

#include "worker/cpu/onednn/convolve_plan.h"

typedef struct Convolve Convolve;

MUST_USE Status convolve_new(Call *call, Convolve **ret_convolve);
void convolve_free(Convolve *convolve); /* NULL is allowed */

/* Says that the filter is always this one. Called before the first run. */
void convolve_set_filter(Convolve *convolve, const float *filter);

/* Computes one convolution; no dimension is 0. */
MUST_USE Status convolve_run(Call *call, Convolve *convolve, Device *device, const ConvolveShape *shape,
    const ConvolveOperands *operands);

/* Returns the bytes that convolve_run() takes from the device when all its threads work; 0: oneDNN cannot
 * compute it. */
MUST_USE uint64_t convolve_scratch(
    Call *call, Convolve *convolve, const Device *device, const ConvolveShape *shape);
