/* Local response normalisation. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor seen as lines along its channels: element (o, k, i) is at (o × size + k) × inner + i. */
typedef struct CudaResponse {
    int64_t outer;
    int64_t size;
    int64_t inner;
    int64_t before; /* channels that count in front, and behind */
    int64_t after;
    double bias;
    double alpha;
    double beta;
} CudaResponse;

/* Computes x / (bias + alpha × Σ x²)^beta. Floating types. */
int cuda_response(
    CudaType type, const CudaResponse *response, const void *input, void *output, cudaStream_t stream);

/* Computes the gradient of the input from that of the output. Floating types. */
typedef struct CudaResponseGradient {
    CudaResponse response;
    const void *gradients;
    const void *input;
    const void *output;
    void *result;
} CudaResponseGradient;

int cuda_response_gradient(CudaType type, const CudaResponseGradient *gradient, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
