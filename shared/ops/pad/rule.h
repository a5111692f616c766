/* The amounts by which each dimension grows in front and behind.
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
    bool is_known; /* whether the amounts and the input's rank are known */
    PaddingMode mode;
    int64_t before[SHAPE_RANK_MAX]; /* negative (ONNX): elements are cut off */
    int64_t after[SHAPE_RANK_MAX];
    Shape output;
} PaddingPlan;

/* Reads Pad, PadV2, MirrorPad (paddings [rank,2]) and onnx::Pad (pads [2 × axes], axes?). INVALID_ARGUMENT
 * for amounts that the mode cannot provide. */
MUST_USE Status padding_read(Call *call, const InferContext *context, PaddingPlan *ret_plan);
