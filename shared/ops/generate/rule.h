/* How many numbers a range holds. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

/* From start, limit and delta: ceil((limit - start) / delta), or -1 when delta leads away from the limit.
 * INVALID_ARGUMENT when one is no single number or delta is 0 or NaN; RESOURCE_EXHAUSTED past int64. */
MUST_USE Status generation_range_count(Call *call, const Tensor *const *values, int64_t *ret_count);
