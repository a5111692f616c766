/* Floats rounded to what a quantised tensor can hold. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The limits between which steps lie: `lowest` and `highest`, one pair for each channel; NULL: `low` and
 * `high` are those of all. They are moved so that 0 is one of the steps. */
typedef struct CudaFakeQuantised {
    const float *input;
    const float
        *gradients; /* kept where the input is within its limits, else 0; NULL: the input is rounded */
    float *output;
    int64_t count;
    int64_t channels; /* element n is of channel n % channels */
    const float *lowest;
    const float *highest;
    float low;
    float high;
    float first; /* the numbers of the steps */
    float last;
} CudaFakeQuantised;

/* Refuses limits that do not ascend, unless both are 0. */
int cuda_fake_quantize(const CudaFakeQuantised *quantised, const CudaBlame *blame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
