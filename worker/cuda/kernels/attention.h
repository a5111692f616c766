/* The scores of attention: what becomes of products of queries and keys until they weigh values. Valid C11
 * and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_SCORES_RANK_MAX = 16,
    CUDA_SCORES_STEPS_MAX = 3,
    CUDA_SCORES_SOURCES = 1 + 2 * CUDA_SCORES_STEPS_MAX
};

typedef enum CudaScoresStep {
    CUDA_SCORES_ADD,
    CUDA_SCORES_DIVIDE,
    CUDA_SCORES_MULTIPLY,
    CUDA_SCORES_SUBTRACT,
    CUDA_SCORES_KEEP,
    CUDA_SCORES_REPLACE,
} CudaScoresStep;

/* Lines of scores. Source 0 is the product, source 1 + i the operand of step i, source 1 +
 * CUDA_SCORES_STEPS_MAX + i its mask, of bools, if it has one; all broadcast to the lines. */
typedef struct CudaScores {
    void *output; /* dense; may be the product, if that has as many elements */
    int64_t lines;
    int64_t columns;
    int rank; /* of the lines */
    int step_count;
    int64_t sizes[CUDA_SCORES_RANK_MAX];                        /* outermost first */
    int64_t strides[CUDA_SCORES_SOURCES][CUDA_SCORES_RANK_MAX]; /* in elements; 0 where it is broadcast */
    int64_t column_strides[CUDA_SCORES_SOURCES];
    const void *sources[CUDA_SCORES_SOURCES];
    CudaScoresStep steps[CUDA_SCORES_STEPS_MAX];
} CudaScores;

/* Applies the steps, each of which rounds, and makes the softmax of each line: the bits are those of kernels
 * that do one of these each. */
int cuda_scores(CudaType type, const CudaScores *scores, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
