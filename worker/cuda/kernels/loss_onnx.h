/* ONNX's losses of classifiers: each label chooses a score of its place. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Place p has the scores (p / inner × classes + class) × inner + p % inner, logarithms of probabilities. */
typedef struct CudaLabelled {
    const void *scores;
    const void *weights; /* of classes, in the type of the scores; NULL: all are 1 */
    const void *labels;
    CudaType label_type;
    CudaBlame blame; /* for labels that are no class */
    int64_t places;
    int64_t classes;
    int64_t inner;
    bool ignores_one; /* places with the label `ignored` count for nothing */
    int64_t ignored;
    double *losses;       /* of each place: -score × weight */
    double *loss_weights; /* of each place */
} CudaLabelled;

/* float32 and float64. */
int cuda_label_losses(CudaType type, const CudaLabelled *labelled, cudaStream_t stream);

/* Sums `count` losses by a tree that their number alone shapes, into one number. With `weights` the sum is
 * divided by theirs. */
int cuda_sum_losses(
    const double *losses, const double *weights, int64_t count, double *output, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
