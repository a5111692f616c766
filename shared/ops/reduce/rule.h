/* The dimensions that an op folds into one value.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Reduction {
    bool is_known;                   /* whether the axes and the input's rank are known */
    bool is_reduced[SHAPE_RANK_MAX]; /* by dimension of the input */
    Shape output;
} Reduction;

/* Reads the axes from input 1 (TensorFlow, ONNX since 18). An absent input, and for ONNX an empty one,
 * means all axes, unless `noop_with_empty_axes` says that nothing is reduced. INVALID_ARGUMENT for axes
 * outside the rank. */
MUST_USE Status reduction_read(Call *call, const InferContext *context, Reduction *ret_reduction);
