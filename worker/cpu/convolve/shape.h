/* What a float32 convolution computes: its sizes, its finish and its operands.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/finish/finish.h"

enum { CONVOLVE_RANK_MAX = 3 };

/* Zeroed before it is filled in, as it is compared byte by byte. */
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
    int64_t before[CONVOLVE_RANK_MAX]; /* padding in front */
    int64_t filter_group;              /* distances, in elements of the filter */
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
    const float *addend; /* laid out like the output; NULL: none */
    float *output;
} ConvolveOperands;

/* Multiplies values[first…count-1]. */
int64_t convolve_product(const int64_t *values, int64_t first, int64_t count);
