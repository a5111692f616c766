/* Convolutions in one form, read from TensorFlow's and ONNX's nodes, for shape rules and for kernels.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when the filter does not fit the input. */
#pragma once

#include "shared/ops/window.h"

/* The meaning of a filter's dimensions. */
typedef struct FilterLayout {
    int output;        /* output channels; for a depthwise filter the multiplier */
    int input;         /* input channels of one group */
    int space;         /* first spatial dimension */
    bool is_depthwise; /* every input channel is a group */
} FilterLayout;

typedef struct Convolution {
    Window window;
    FilterLayout filter;
    int64_t groups; /* -1 while unknown, as are the two below */
    int64_t inputs; /* channels of one group */
    int64_t outputs;
    Shape output;
} Convolution;

/* Reads Conv2D, Conv3D, DepthwiseConv2dNative and their fused forms: inputs 0 and 1 are the image and the
 * filter, whose ranks are known. */
MUST_USE Status convolution_tensorflow(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution);

/* Reads Conv2DBackpropInput and its relatives: the inputs are the sizes of the image, the filter and the
 * gradient of the output. `ret_image` is partly unknown while the sizes are not known. */
MUST_USE Status convolution_backprop_input(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution, Shape *ret_image);

/* Reads Conv2DBackpropFilter and its relatives: the inputs are the image, the sizes of the filter and the
 * gradient of the output. */
MUST_USE Status convolution_backprop_filter(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution, Shape *ret_filter);

/* Reads onnx::Conv of any rank up to WINDOW_RANK_MAX, and its fused form, whose operands epilogue.h
 * checks. The input's rank is known. */
MUST_USE Status convolution_onnx(Call *call, const InferContext *context, Convolution *ret_convolution);

/* Reads onnx::ConvInteger, whose filter is input 1, and onnx::QLinearConv, whose filter is input 3 and whose
 * bias is input 8. The input's rank is known. */
MUST_USE Status convolution_onnx_integer(
    Call *call, const InferContext *context, Convolution *ret_convolution);

/* Reads onnx::ConvTranspose: the convolution whose image is the node's output, whose output is the node's
 * input, and whose filter [output channels of the convolution, image channels of a group, …] is input 1.
 * `output` is the shape of the image. The input's rank is known. */
MUST_USE Status convolution_onnx_transposed(
    Call *call, const InferContext *context, Convolution *ret_convolution);
