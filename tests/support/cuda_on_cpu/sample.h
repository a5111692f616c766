/* Kernels that show what tests/support/cuda_on_cpu does, with the mistakes that it must find. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = in[i] * factor for `count` elements. */
cudaError_t sample_scale(int64_t count, float factor, const float *in, float *out, cudaStream_t stream);

/* Reverses each run of 256 elements by shared memory, with the barrier that this needs or without. */
cudaError_t sample_reverse(int64_t count, bool has_barrier, const float *in, float *out, cudaStream_t stream);

/* Sums each row of 256 elements by shuffles. */
cudaError_t sample_sum_rows(int64_t rows, const float *in, float *out, cudaStream_t stream);

/* Half of the threads never come to the barrier. */
cudaError_t sample_hang(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
