/* onnx::OneHot: the size of the dimension that is inserted.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

/* Reads the depth, a number of any real dtype, of which a fraction is dropped; -1: it is not known.
 * INVALID_ARGUMENT when it is not one number above 0. */
MUST_USE Status one_hot_depth(Call *call, const InferContext *context, int64_t *ret_depth);
