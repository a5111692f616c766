/* How much each dimension grows in front and behind.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef enum PaddingMode {
    PADDING_CONSTANT,
    PADDING_REFLECT,   /* mirrored without the border element */
    PADDING_SYMMETRIC, /* mirrored with it */
    PADDING_EDGE,
    PADDING_WRAP,
} PaddingMode;

typedef struct PaddingPlan {
    bool is_known; /* the amounts, and the input's rank */
    PaddingMode mode;
    int64_t before[SHAPE_RANK_MAX]; /* negative (ONNX): cut off */
    int64_t after[SHAPE_RANK_MAX];
    Shape output;
} PaddingPlan;

/* Pad, PadV2, MirrorPad (paddings [rank,2]); onnx::Pad (pads [2 × axes], axes?). INVALID_ARGUMENT for
 * amounts that the mode cannot give. */
MUST_USE Status padding_read(Call *call, const InferContext *context, PaddingPlan *ret_plan);
