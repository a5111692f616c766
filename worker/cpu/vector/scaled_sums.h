/* Sums of products of quantised numbers turned into quantised numbers, many at a time, with the bits of
 * worker/reference/requantize.h: int8 and uint8.
 *
 * Threads: any. */
#pragma once

#include "worker/reference/requantize.h"

/* Scales all sums alike, or each by its own scale. */
void scale_sums_alike(const Requantizer *to, const int32_t *sums, int64_t count, float scale, void *output);
void scale_sums_each(
    const Requantizer *to, const int32_t *sums, const float *scales, int64_t count, void *output);

/* Scales rows of `width` sums, each of a row by its own scale. */
void scale_sums_rows(const Requantizer *to, const int32_t *sums, const float *scales, int64_t width,
    int64_t rows, void *output);
