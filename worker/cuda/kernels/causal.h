/* A convolution of each channel over the positions up to each one, with those before the first in a state.
 * Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaCausal {
    const void *input;  /* lines of `length`, one for each batch and channel */
    const void *weight; /* `kept` + 1 of each channel */
    const void *bias;   /* NULL: 0 */
    const void *past;   /* `kept` before each line; NULL: zeros */
    void *output;
    void *state; /* the last `kept` positions of each line */
    int64_t lines;
    int64_t channels;
    int64_t length;
    int64_t kept;
    bool is_activated; /* x × σ(x) */
} CudaCausal;

/* Floating types. */
int cuda_causal(CudaType type, const CudaCausal *causal, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
