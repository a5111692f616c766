/* Sums of products of quantised numbers, scaled to quantised numbers again: in float, rounded to the nearest
 * even one, as ONNX Runtime does. NaN becomes the least number.
 * Threads: any. */
#pragma once

#include "shared/tensor/tensor.h"

/* Of numbers that are quantised to `dtype`, one of scaling_has(). */
typedef struct Requantizer {
    Dtype dtype;
    int32_t zero_point;
} Requantizer;

/* Writes `count` numbers: round(sums[n] × scale) + zero point, within the dtype. */
void requantize(const Requantizer *to, const int32_t *sums, int64_t count, float scale, void *output);

/* Writes one number of its own scale for each sum. */
void requantize_each(
    const Requantizer *to, const int32_t *sums, const float *scales, int64_t count, void *output);

/* Quantises floats: round(values[n] / scale) + zero point, within the dtype. */
void quantize_floats(const Requantizer *to, const float *values, int64_t count, float scale, void *output);
