/* onnx::Resize: which dimensions are resized, and where an element of the output lies in the input.
 *
 * Rules: ONNX Resize-19, as its reference implementation computes them; positions are doubles.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef enum ResizePlace {
    RESIZE_HALF_PIXEL,
    RESIZE_HALF_PIXEL_SYMMETRIC,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_HALF_PIXEL_FOR_NEAREST, /* tf_half_pixel_for_nn, which left the standard in version 13 */
    RESIZE_CROP,                   /* tf_crop_and_resize */
} ResizePlace;

typedef struct ResizedDimension {
    bool is_resized;
    double scale;
    double crop_start; /* parts of the input's dimension, for RESIZE_CROP */
    double crop_end;
} ResizedDimension;

typedef struct ResizePlan {
    bool is_known; /* whether the input's shape and the scales or sizes are known */
    ResizePlace place;
    ResizedDimension dimensions[SHAPE_RANK_MAX];
    Shape output;
} ResizePlan;

/* INVALID_ARGUMENT when the inputs do not fit together, or ask for a dimension without elements. */
MUST_USE Status resize_read(Call *call, const InferContext *context, ResizePlan *ret_plan);

/* Returns where element `index` of a dimension of the output lies in the input. */
double resize_position(const ResizePlan *plan, int64_t input, int64_t output, int dimension, int64_t index);
