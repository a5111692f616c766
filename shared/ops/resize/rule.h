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

typedef enum ResizeMode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } ResizeMode;
typedef enum ResizeNearest {
    RESIZE_PREFER_FLOOR,
    RESIZE_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL
} ResizeNearest;

typedef struct ResizeFilter {
    ResizeMode mode;
    ResizeNearest nearest;
    double cubic; /* Keys' coefficient */
    bool is_antialiased;
    bool excludes_outside;
    double scale; /* the dimension's where it shrinks and is antialiased, else 1 */
} ResizeFilter;

/* INVALID_ARGUMENT when the inputs do not fit together, or ask for a dimension without elements. */
MUST_USE Status resize_read(Call *call, const InferContext *context, ResizePlan *ret_plan);

/* Returns where element `index` of a dimension of the output lies in the input. */
double resize_position(const ResizePlan *plan, int64_t input, int64_t output, int dimension, int64_t index);

/* Returns whether a dimension is to be computed: one under a scale of 1 is left as it is, but for a crop. */
bool resize_changes(const ResizePlan *plan, int dimension);

/* Reads the attributes: INVALID_ARGUMENT for modes that there are not. The scale is that of no dimension. */
MUST_USE Status resize_read_filter(Call *call, const Node *node, ResizeFilter *ret_filter);

/* Sets the filter's scale to that of the dimension. */
void resize_antialias(const ResizePlan *plan, int dimension, ResizeFilter *filter);

/* Returns the first neighbour that the filter reaches, counted from the one on the left: 0, -1, … The last
 * one is as far behind the one on the right. */
int64_t resize_reach(const ResizeFilter *filter);
