/* How many numbers a range holds. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

/* From start, limit and delta: max(0, ceil((limit - start) / delta)). INVALID_ARGUMENT when one is no single
 * number or delta is 0 or NaN; RESOURCE_EXHAUSTED past int64. */
MUST_USE Status generation_range_count(Call *call, const Tensor *const *values, int64_t *ret_count);
