/* Pools in one form, read from TensorFlow's and ONNX's nodes: for shape rules and for kernels.
 * Threads: any. */
#pragma once

#include "shared/ops/window.h"

typedef struct Pooling {
    Window window;
    Shape output;
} Pooling;

/* MaxPool, AvgPool and their 3D forms: attribute ksize. MaxPoolV2 gives ksize and strides as inputs and is
 * not known here. */
MUST_USE Status pooling_tensorflow(Call *call, const InferContext *context, Pooling *ret_pooling);

/* MaxPoolGrad (input, output, gradient) and AvgPoolGrad (the input's shape, gradient), and their 3D forms. */
MUST_USE Status pooling_gradient(
    Call *call, const InferContext *context, Pooling *ret_pooling, Shape *ret_input);

/* onnx::MaxPool, onnx::AveragePool: attribute kernel_shape. The input's rank is known. */
MUST_USE Status pooling_onnx(Call *call, const InferContext *context, Pooling *ret_pooling);

/* onnx::GlobalMaxPool, onnx::GlobalAveragePool: the window is all of the input. The input's rank is known. */
MUST_USE Status pooling_global(Call *call, const InferContext *context, Pooling *ret_pooling);
