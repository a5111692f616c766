/* Changes elements in place by others, for assignments, scatters and sums of gradients.
 * Threads: any; the caller makes sure that nobody else reads the target meanwhile. */
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

/* Returns whether the dtype has this combination: all numbers have the sums and products, ordered ones the
 * extremes; COMBINE_SET takes every copyable dtype. */
bool combine_supports(Combine combine, Dtype dtype);

/* Computes target[n] = target[n] ∘ source[n × stride] for n below `count`; a stride of 0 repeats one
 * element. Integers wrap. Dividing one by 0 gives false, and leaves the target half changed. */
MUST_USE bool combine_elements(
    Combine combine, Dtype dtype, void *target, const void *source, int64_t stride, int64_t count);
