/* What ONNX's losses have in common: each label chooses a score of its place, and the chosen ones are weighed
 * and reduced. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef enum OnnxLossReduction {
    ONNX_LOSS_NONE,
    ONNX_LOSS_SUM,
    ONNX_LOSS_MEAN, /* by the sum of the weights */
    ONNX_LOSS_REDUCTIONS
} OnnxLossReduction;

typedef struct OnnxLoss {
    OnnxLossReduction reduction;
    bool ignores_one; /* places with the label `ignored` count for nothing */
    int64_t ignored;
    Shape labels;
} OnnxLoss;

/* Reads attributes and shapes; the rank of the scores must be known. INVALID_ARGUMENT when they do not fit.
 */
MUST_USE Status onnx_loss_read(Call *call, const InferContext *context, OnnxLoss *ret_loss);
