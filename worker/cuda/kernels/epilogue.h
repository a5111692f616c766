/* The steps that a fused op applies to a sum before it is stored (shared/ops/epilogue.h), as kernels of
 * products and convolutions take them: pointers into the device's memory. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of EpilogueActivation, which operands/epilogue.c asserts. */
typedef enum CudaActivation {
    CUDA_ACTIVATION_NONE,
    CUDA_ACTIVATION_ELU,
    CUDA_ACTIVATION_GELU,
    CUDA_ACTIVATION_GELU_TANH,
    CUDA_ACTIVATION_HARD_SWISH,
    CUDA_ACTIVATION_LEAKY_RELU,
    CUDA_ACTIVATION_RELU,
    CUDA_ACTIVATION_RELU6,
    CUDA_ACTIVATION_SIGMOID,
    CUDA_ACTIVATION_SWISH,
    CUDA_ACTIVATION_TANH,
} CudaActivation;

/* Operands have the output's dtype. NULL: the step is absent. All zero: no steps. */
typedef struct CudaEpilogue {
    const void *bias;  /* one number a channel */
    const void *scale; /* of a batch normalisation, one number a channel each */
    const void *offset;
    const void *mean;
    const void *variance;
    const void *addend; /* of the output's shape */
    float epsilon;
    float alpha; /* of LeakyRelu */
    CudaActivation activation;
} CudaEpilogue;

/* Returns whether there are no steps. */
bool cuda_epilogue_is_empty(const CudaEpilogue *epilogue);

/* Applies the steps in place to sums that another kernel, a library's, has stored. Channels are `inner`
 * elements apart. Floating types. */
int cuda_finish(CudaType type, const CudaEpilogue *epilogue, void *output, int64_t count, int64_t channels,
    int64_t inner, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
