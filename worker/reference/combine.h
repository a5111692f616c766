/* Changes elements in place by others: what assignments, scatters and sums of gradients have in common.
 * Threads: any; the caller sees to it that nobody else reads what is changed. */
#pragma once

#include "shared/tensor/tensor.h"

typedef enum Combine {
    COMBINE_SET,
    COMBINE_ADD,
    COMBINE_SUB,
    COMBINE_MUL,
    COMBINE_DIV,
    COMBINE_MIN,
    COMBINE_MAX,
    COMBINE_COUNT,
} Combine;

/* Numbers for all; COMBINE_SET takes every copyable dtype, complex numbers have no order. */
bool combine_supports(Combine combine, Dtype dtype);

/* target[n] = target[n] ∘ source[n × stride] for n below `count`; a stride of 0 repeats one element. Integers
 * wrap; dividing one by 0 gives false, and the target is half changed. */
MUST_USE bool combine_elements(
    Combine combine, Dtype dtype, void *target, const void *source, int64_t stride, int64_t count);
