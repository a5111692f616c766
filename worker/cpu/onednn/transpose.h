/* Transposes a matrix, between channels first and channels last: output[column × output_step + row] =
 * input[row × input_step + column]. Steps are in elements.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

void transpose(const float *input, int64_t rows, int64_t columns, int64_t input_step, float *output,
    int64_t output_step);
