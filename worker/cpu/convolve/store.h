/* Brings sums of a convolution to its output: the bias of the row is added, then the addend, each rounded by
 * itself, and the finish follows.
 *
 * Threads: any. */
#pragma once

#include "worker/cpu/finish/finish.h"

/* A bias that changes no sum, whereas +0 would change -0. */
#define NO_BIAS (-0.0F)

/* Rows of sums; steps are in floats. */
typedef struct Store {
    const float *sums;
    int64_t sums_step;
    const float *bias;   /* of each row; NULL: none */
    const float *addend; /* laid out like the output; NULL: none */
    float *output;
    int64_t output_step;
    int64_t rows;
    int64_t count; /* of a row */
    const Finish *finish;
} Store;

void store_rows(const Store *store);
