/* float32 convolutions on oneDNN in one to three spatial dimensions, cut into tiles of output rows (positions
 * of the first spatial dimension) by shape and shared among the device's threads.
 *
 * oneDNN computes with the channels last, which is twice as fast as channels first; images that come channels
 * first are turned on the way in and tile by tile on the way out.
 *
 * Ownership: convolve_new() … convolve_free(); a constant filter must outlive the Convolve.
 * Threads:   convolve_run() any, several at once. */
#pragma once

#include "worker/cpu/onednn/finish.h"
#include "worker/cpu/onednn/primitive.h"

enum { CONVOLVE_RANK_MAX = 3 };

typedef struct Convolve Convolve;

/* Zeroed before it is filled in: compared byte by byte. */
typedef struct ConvolveShape {
    int64_t rank;
    int64_t batch;
    int64_t groups;
    int64_t inputs;  /* channels of one group */
    int64_t outputs; /* of one group */
    int64_t input[CONVOLVE_RANK_MAX];
    int64_t output[CONVOLVE_RANK_MAX];
    int64_t size[CONVOLVE_RANK_MAX]; /* of the filter */
    int64_t stride[CONVOLVE_RANK_MAX];
    int64_t dilation[CONVOLVE_RANK_MAX];
    int64_t before[CONVOLVE_RANK_MAX]; /* padding */
    int64_t filter_group;              /* steps in the filter's elements */
    int64_t filter_output;
    int64_t filter_input;
    int64_t filter_space[CONVOLVE_RANK_MAX];
    int64_t is_channels_last;
    int64_t has_bias;
    Finish finish;
} ConvolveShape;

typedef struct ConvolveOperands {
    const float *input;
    const float *filter;
    const float *bias;   /* NULL: none */
    const float *addend; /* as the output lies; NULL: none */
    float *output;
} ConvolveOperands;

MUST_USE Status convolve_new(Call *call, Convolve **ret_convolve);
void convolve_free(Convolve *convolve); /* NULL is allowed */

/* The filter is always this one. Before the first run. */
void convolve_set_filter(Convolve *convolve, const float *filter);

/* No dimension is 0. */
MUST_USE Status convolve_run(Call *call, Convolve *convolve, Device *device, const ConvolveShape *shape,
    const ConvolveOperands *operands);

/* Bytes that convolve_run() will take from the device, with all its threads at work. 0: oneDNN cannot do it.
 */
MUST_USE uint64_t convolve_scratch(
    Call *call, Convolve *convolve, const Device *device, const ConvolveShape *shape);
