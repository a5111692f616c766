/* The number of elements of a range. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

/* Returns ceil((limit - start) / delta), or -1 when delta leads away from the limit. INVALID_ARGUMENT when
 * an input is not one number or delta is 0 or NaN; RESOURCE_EXHAUSTED past int64. */
MUST_USE Status generation_range_count(Call *call, const Tensor *const *values, int64_t *ret_count);
