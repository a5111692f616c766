/* Batch normalisation with the statistics of the batch itself, and its gradient. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The elements of a channel are folded in chunks, whose number follows from their count alone. */
enum { CUDA_BATCH_CHUNKS_MAX = 256, CUDA_BATCH_CHUNK_MIN = 1024 };

/* A tensor seen as lines along its channels: element (o, k, i) is at (o × size + k) × inner + i. */
typedef struct CudaChannels {
    int64_t outer;
    int64_t size;
    int64_t inner;
} CudaChannels;

/* Returns how many chunks the elements of a channel have, at least 1. */
static inline int64_t
cuda_batch_chunks(const CudaChannels *channels)
{
    int64_t chunks = (channels->outer * channels->inner - 1) / CUDA_BATCH_CHUNK_MIN + 1;
    return chunks < CUDA_BATCH_CHUNKS_MAX ? chunks : (int64_t)CUDA_BATCH_CHUNKS_MAX;
}

/* What a kernel notes for itself: pairs of what elements are computed in, double for float64 and float for
 * all others. */
typedef struct CudaBatchNotes {
    void *chunks;   /* a pair for each chunk of each channel */
    void *channels; /* two pairs for each channel */
} CudaBatchNotes;

/* The statistics, the scale and the offset have a number for each channel. */
typedef struct CudaBatchNorm {
    CudaChannels channels;
    CudaBatchNotes notes;
    bool is_training; /* false: the given statistics are the batch's */
    float epsilon;
    float average_factor; /* weight of the batch in the running statistics; with 1 the given ones are not read
                           */
    const void *input;
    const void *scale;
    const void *offset;
    const void *given_mean;
    const void *given_variance;
    void *output;
    void *running_mean;
    void *running_variance;
    void *batch_mean;
    void *batch_variance;
} CudaBatchNorm;

/* Floating types; those of the statistics are float32 or the input's. */
int cuda_batch_norm(CudaType type, CudaType statistics, const CudaBatchNorm *norm, cudaStream_t stream);

typedef struct CudaBatchNormGradient {
    CudaChannels channels;
    CudaBatchNotes notes;
    bool is_training;
    float epsilon;
    const void *gradients; /* of the output */
    const void *input;
    const void *scale;
    const void *mean;
    const void *variance;
    void *input_gradients;
    void *scale_gradients;
    void *offset_gradients;
} CudaBatchNormGradient;

int cuda_batch_norm_gradient(
    CudaType type, CudaType statistics, const CudaBatchNormGradient *gradient, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
