/* Forecasts what kernels will take from the device while they compute, beside the tensors that
 * memory_values.h knows.
 *
 * Ownership: lives in the arena it was made in.
 * Threads:   any; kernels may be asked while others run them.
 * Errors:    NULL without memory. */
#pragma once

#include "worker/runtime/partition/partition.h"

/* Bytes by node: 0 where a kernel takes none, where shapes are unknown and where nobody can tell. `shapes`
 * by node and port. */
MUST_USE uint64_t *memory_scratch_find(Arena *arena, const Partition *partition, const Shape *const *shapes);
