/* The same elements under another shape: rules shared by TensorFlow's and ONNX's ops.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when the elements cannot have that shape. */
#pragma once

#include "shared/ops/infer.h"

/* Reads the shape from input 1. One -1 is inferred from the element count; with `copies_zero` (ONNX), 0
 * stands for the input's dimension of that index. */
MUST_USE Status reshape_to(Call *call, InferContext *context, bool copies_zero);

/* Drops the dimensions `axes`, which are 1; all dimensions of 1 when `count` is 0. */
MUST_USE Status reshape_squeeze(Call *call, InferContext *context, const int64_t *axes, size_t count);

/* Inserts dimensions of 1 at `axes`, which count in the result. */
MUST_USE Status reshape_unsqueeze(Call *call, InferContext *context, const int64_t *axes, size_t count);

/* Makes two dimensions: the product of those before `axis` and the product of the others. */
MUST_USE Status reshape_flatten(Call *call, InferContext *context, int64_t axis);
