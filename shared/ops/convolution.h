/* Convolutions in one form, read from TensorFlow's and ONNX's nodes: for shape rules and for kernels.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when the filter does not fit the input. */
#pragma once

#include "shared/ops/window.h"

/* Filter dimensions, by what they are. */
typedef struct FilterLayout {
    int output;        /* where the output channels stand; for depthwise filters the multiplier */
    int input;         /* input channels of one group */
    int space;         /* first spatial dimension */
    bool is_depthwise; /* the input's channels are the groups */
} FilterLayout;

typedef struct Convolution {
    Window window;
    FilterLayout filter;
    int64_t groups; /* -1 unknown, as the two below */
    int64_t inputs; /* channels of one group */
    int64_t outputs;
    Shape output;
} Convolution;

/* Conv2D, Conv3D, DepthwiseConv2dNative and their fused forms: inputs 0 and 1 are the image and the filter.
 * The ranks are known. */
MUST_USE Status convolution_tensorflow(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution);

/* Conv2DBackpropInput and its likes: inputs are the sizes of the image, the filter and the gradient of the
 * output. The image's shape is what the sizes say; `ret_image` is partly unknown while they are not known. */
MUST_USE Status convolution_backprop_input(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution, Shape *ret_image);

/* Conv2DBackpropFilter and its likes: the image, the sizes of the filter, the gradient of the output. */
MUST_USE Status convolution_backprop_filter(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution, Shape *ret_filter);

/* onnx::Conv of any rank up to WINDOW_RANK_MAX, and its fused form, whose operands epilogue.h checks. The
 * input's rank is known. */
MUST_USE Status convolution_onnx(Call *call, const InferContext *context, Convolution *ret_convolution);
