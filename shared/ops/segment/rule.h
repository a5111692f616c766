/* The ids of segments: what the kernels of every device accept. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

/* Reads the segment of the slice at a position. INVALID_ARGUMENT when there are not as many segments, or when
 * it comes before `previous`: 0 where ids need no order. */
MUST_USE Status segment_read(Call *call, const Tensor *ids, int64_t position, int64_t previous,
    int64_t segments, int64_t *ret_segment);
