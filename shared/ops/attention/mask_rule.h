/* The forms of ONNX Runtime's masks of keys: numbers above 0 for the keys that count, [batch, keys] or
 * [batch, queries, keys]; or positions in a vector: where the keys of each example end ([batch], or the first
 * of [3 batch + 2]), or where they end and then where they begin ([2 batch]).
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

/* Makes [batch, 1, queries, keys], the keys of the past among them. INVALID_ARGUMENT for a mask of no such
 * form. */
MUST_USE Status key_mask_shape(Call *call, const InferContext *context, Shape *ret_shape);
