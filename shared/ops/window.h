/* The positions of a window that slides over the spatial dimensions of a tensor, for convolutions and
 * pools: TensorFlow's padding (SAME, VALID, EXPLICIT) and ONNX's (pads, auto_pad, ceil_mode).
 *
 * Along one dimension, with e = (size - 1) × dilation + 1:
 *   VALID, explicit pads:  output = floor((input + before + after - e) / stride) + 1
 *   SAME:                  output = ceil(input / stride); the missing elements are padded, an odd one behind
 *                          (SAME_LOWER: in front)
 *   ceil_mode:             as explicit, rounded up, but no window begins in the padding behind
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for attributes that do not fit the rank, sizes below 1 and windows larger than
 *          the padded input. */
#pragma once

#include "shared/ops/infer.h"

enum { WINDOW_RANK_MAX = 4 };

typedef struct Window {
    int rank;  /* number of spatial dimensions */
    int batch; /* index of each dimension in the input's and the output's shape */
    int channel;
    int space; /* the first spatial dimension; the others follow */
    int64_t size[WINDOW_RANK_MAX];
    int64_t stride[WINDOW_RANK_MAX];
    int64_t dilation[WINDOW_RANK_MAX];
    int64_t before[WINDOW_RANK_MAX];
    int64_t after[WINDOW_RANK_MAX];
    int64_t output[WINDOW_RANK_MAX]; /* -1 when the input's dimension is unknown */
} Window;

/* Reads the attributes strides and padding, and, where declared, data_format, dilations or rates,
 * explicit_paddings. `sizes` are the window's, -1 for unknown; the input has a rank of rank + 2. */
MUST_USE Status window_tensorflow(
    Call *call, const Node *node, const Shape *input, const int64_t *sizes, int rank, Window *ret_window);

/* Reads the attributes strides and pads, and, where declared, auto_pad, dilations and ceil_mode; channels are
 * the second dimension, or the last of a node that was turned around (layout.h). */
MUST_USE Status window_onnx(
    Call *call, const Node *node, const Shape *input, const int64_t *sizes, int rank, Window *ret_window);

/* Reads the window of onnx::ConvTranspose, whose positions are the elements of the input, over an image,
 * which is the node's output and of which `ret_image` gets the spatial sizes: attributes strides, dilations,
 * pads, auto_pad, output_padding and output_shape. */
MUST_USE Status window_onnx_transposed(Call *call, const Node *node, const Shape *input, const int64_t *sizes,
    Window *ret_window, int64_t *ret_image);

/* Returns the output's shape: the input's batch, these channels, the window's positions. */
Shape window_output(const Window *window, const Shape *input, int64_t channels);
