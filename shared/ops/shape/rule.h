/* The same elements under another shape: rules that TensorFlow's and ONNX's ops share.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when the elements cannot have that shape. */
#pragma once

#include "shared/ops/infer.h"

/* Input 1 is the shape: one -1 is what the element count leaves over; 0 is the input's dimension at that
 * place when `copies_zero` (ONNX), else none. */
MUST_USE Status reshape_to(Call *call, InferContext *context, bool copies_zero);

/* Without the dimensions `axes` of 1, or without all of them when count is 0. */
MUST_USE Status reshape_squeeze(Call *call, InferContext *context, const int64_t *axes, size_t count);

/* With dimensions of 1 at `axes`, which count in the result. */
MUST_USE Status reshape_unsqueeze(Call *call, InferContext *context, const int64_t *axes, size_t count);

/* Two dimensions: the product of those before `axis` and the product of the rest. */
MUST_USE Status reshape_flatten(Call *call, InferContext *context, int64_t axis);
