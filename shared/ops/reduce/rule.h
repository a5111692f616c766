/* Which dimensions an op folds into one value.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Reduction {
    bool is_known;                   /* the axes, and the input's rank */
    bool is_reduced[SHAPE_RANK_MAX]; /* by dimension of the input */
    Shape output;
} Reduction;

/* Input 1 holds the axes (TensorFlow, ONNX since 18). An absent one, and for ONNX an empty one, is all axes,
 * unless `noop_with_empty_axes` says that nothing is reduced. INVALID_ARGUMENT for axes outside the rank. */
MUST_USE Status reduction_read(Call *call, const InferContext *context, Reduction *ret_reduction);
