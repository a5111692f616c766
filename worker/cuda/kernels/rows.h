/* Functions of whole rows: reductions, softmax and normalisation. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_ROWS_RANK_MAX = 16 };

typedef enum CudaReduction {
    CUDA_REDUCE_SUM,
    CUDA_REDUCE_MEAN,
    CUDA_REDUCE_PRODUCT,
    CUDA_REDUCE_MAXIMUM,
    CUDA_REDUCE_MINIMUM,
    CUDA_REDUCE_ABSOLUTE_SUM,
    CUDA_REDUCE_SQUARES,
    CUDA_REDUCE_HALF_OF_SQUARES,
    CUDA_REDUCE_NORM,
    CUDA_REDUCE_LOGARITHM,
    CUDA_REDUCE_EXPONENTIALS, /* log Σ e^a, from which the largest a is taken out */
} CudaReduction;

/* Each output element is made of the elements at its own place, by `kept`, and from there on by `folded`;
 * sizes are outermost first, strides count elements. */
typedef struct CudaDimensions {
    int rank;
    int64_t sizes[CUDA_ROWS_RANK_MAX];
    int64_t strides[1][CUDA_ROWS_RANK_MAX];
} CudaDimensions;

typedef struct CudaReduce {
    const void *input;
    void *output;
    int64_t output_count;
    int64_t count; /* elements folded into one; may be 0 */
    CudaDimensions kept;
    CudaDimensions folded;
} CudaReduce;

/* Floats are summed in float, or as float64 themselves, by a tree; integers wrap. float16 to float64; the
 * extremes, sums, means and products also of integers; of bool the extremes (any, all). cudaErrorInvalidValue
 * for other types; with `reduce` NULL nothing is computed and only that is asked. */
int cuda_reduce(CudaReduction reduction, CudaType type, const CudaReduce *reduce, cudaStream_t stream);

/* Lines of `size` elements that are `inner` apart, `outer` × `inner` of them. The output may be the input. */
typedef struct CudaLines {
    const void *input;
    void *output;
    int64_t outer;
    int64_t size;
    int64_t inner;
} CudaLines;

int cuda_softmax(CudaType type, const CudaLines *lines, bool is_logarithm, cudaStream_t stream);

/* Makes 1 of the first of a line's largest elements, and 0 of the others. */
int cuda_hardmax(CudaType type, const CudaLines *lines, cudaStream_t stream);

/* Rows of `size` elements; scale and bias have as many, the bias may be NULL. mean and deviation, a number
 * for each row, may be NULL. */
typedef struct CudaLayerNorm {
    const void *input;
    const void *scale;
    const void *bias;
    void *output;
    void *mean;
    void *deviation; /* 1 / √(variance + ε) */
    int64_t rows;
    int64_t size;
    float epsilon;
} CudaLayerNorm;

int cuda_layer_norm(CudaType type, const CudaLayerNorm *norm, cudaStream_t stream);

/* Rows of input + skip + bias, normalised; row r has row r % skip_rows of the skip. gamma, beta and bias have
 * `size` elements. beta, bias, mean, deviation and sum may be NULL. */
typedef struct CudaSkipNorm {
    const void *input;
    const void *skip;
    const void *gamma;
    const void *beta;
    const void *bias;
    void *output;
    float *mean;
    float *deviation;
    void *sum;
    int64_t rows;
    int64_t skip_rows;
    int64_t size;
    float epsilon;
    bool has_mean; /* the rows' mean is taken off */
} CudaSkipNorm;

int cuda_skip_norm(CudaType type, const CudaSkipNorm *norm, cudaStream_t stream);

/* Rows of `size` elements, each with statistics of its own; row r has scale and bias r % channels. */
typedef struct CudaInstanceNorm {
    const void *input;
    const void *scale;
    const void *bias;
    void *output;
    int64_t rows;
    int64_t channels;
    int64_t size;
    float epsilon;
} CudaInstanceNorm;

int cuda_instance_norm(CudaType type, const CudaInstanceNorm *norm, cudaStream_t stream);

/* (x - mean) / √(variance + ε) × scale + bias, with statistics given for each channel. The output may be the
 * input. */
typedef struct CudaChannelNorm {
    CudaType parameters; /* type of scale, bias, mean and variance: the input's, or float32 */
    const void *input;
    const void *scale;
    const void *bias;
    const void *mean;
    const void *variance;
    void *output;
    int64_t outer;
    int64_t channels;
    int64_t inner;
    float epsilon;
} CudaChannelNorm;

int cuda_channel_norm(CudaType type, const CudaChannelNorm *norm, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
