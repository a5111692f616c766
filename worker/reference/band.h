/* The band of diagonals that MatrixBandPart keeps.
 * Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

/* Element (i, j) is kept when neither i - j exceeds the lower width nor j - i the upper; a width below 0
 * keeps all. */
typedef struct Band {
    int64_t rows; /* of a matrix */
    int64_t columns;
    int64_t lower;
    int64_t upper;
} Band;

/* INVALID_ARGUMENT for a width that is no single number, or larger than its dimension. */
MUST_USE Status band_read(KernelContext *context, Band *ret_band);
