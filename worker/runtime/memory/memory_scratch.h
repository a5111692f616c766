/* Forecasts the device memory that kernels will take while they compute, beside their inputs and outputs
 * (Kernel.scratch).
 *
 * Ownership: the result lives in the arena given.
 * Threads:   any, also while runs compute with the same kernels.
 * Errors:    NULL without memory. */
#pragma once

#include "worker/runtime/partition/partition.h"

/* Returns bytes by node: 0 when its kernel takes none or cannot tell, or when an input's shape is not
 * known. `shapes`: by node and port. */
MUST_USE uint64_t *memory_scratch_find(Arena *arena, const Partition *partition, const Shape *const *shapes);
