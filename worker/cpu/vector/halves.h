/* float16 and bfloat16 (shared/tensor/half.h), many at a time, with the bits that one at a time has; and
 * element-wise loops over them by loops over float32, each result rounded once.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>

#include "shared/tensor/dtype.h"
#include "worker/runtime/element.h"

static inline bool
halves_has(Dtype dtype)
{
    return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

/* `dtype` is one of both. */
void halves_widen(Dtype dtype, const uint16_t *halves, float *numbers, int64_t count);
void halves_narrow(Dtype dtype, const float *numbers, uint16_t *halves, int64_t count);

/* Computes a run of elements of such a dtype by a loop over float32 of so many inputs. Strides are 1 and 0.
 */
void halves_run(Dtype dtype, const ElementRun *run, int input_count, ElementLoop loop);
