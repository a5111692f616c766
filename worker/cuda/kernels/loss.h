/* Losses of classifiers with their gradients, and whether a class is among the likeliest. Valid C11 and C++.
 */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows that may be broadcast: steps of 0 repeat. */
typedef struct CudaScores {
    const void *data;
    int64_t row_step;
    int64_t column_step;
} CudaScores;

/* With x the features less their largest and s = Σ e^x, a class has the probability e^x / s; the loss is
 * Σ label × (log s - x), its gradient probability - label. */
typedef struct CudaCrossEntropy {
    CudaScores features;
    CudaScores labels;   /* not used when `targets` are there */
    const void *targets; /* the class whose label is 1, for each row; NULL: there are labels */
    CudaType target_type;
    CudaBlame blame; /* for targets that are no class */
    void *losses;
    void *gradients;
    int64_t rows;
    int64_t classes;
} CudaCrossEntropy;

/* Floating types. */
int cuda_cross_entropy(CudaType type, const CudaCrossEntropy *entropy, cudaStream_t stream);

typedef struct CudaInTop {
    const float *predictions;
    const void *targets;
    CudaType target_type;
    uint8_t *output;
    int64_t rows;
    int64_t classes;
    int64_t k;
} CudaInTop;

/* True for a row of finite predictions of which fewer than k are larger than the target's. */
int cuda_in_top(const CudaInTop *top, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
