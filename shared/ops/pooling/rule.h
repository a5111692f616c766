/* Pools in one form, read from TensorFlow's and ONNX's nodes, for shape rules and for kernels.
 * Threads: any. */
#pragma once

#include "shared/ops/window.h"

typedef struct Pooling {
    Window window;
    Shape output;
} Pooling;

/* Reads MaxPool, AvgPool and their 3D forms, with the attribute ksize. MaxPoolV2, which has ksize and
 * strides as inputs, is not an op here. */
MUST_USE Status pooling_tensorflow(Call *call, const InferContext *context, Pooling *ret_pooling);

/* Reads MaxPoolGrad (input, output, gradient), AvgPoolGrad (the input's shape, gradient), and their 3D
 * forms. */
MUST_USE Status pooling_gradient(
    Call *call, const InferContext *context, Pooling *ret_pooling, Shape *ret_input);

/* Reads onnx::MaxPool and onnx::AveragePool, with the attribute kernel_shape. The input's rank is known. */
MUST_USE Status pooling_onnx(Call *call, const InferContext *context, Pooling *ret_pooling);

/* Reads onnx::GlobalMaxPool and onnx::GlobalAveragePool, whose window is all of the input. The input's
 * rank is known. */
MUST_USE Status pooling_global(Call *call, const InferContext *context, Pooling *ret_pooling);
