/* The stages of compiling a partition that have files of their own, in the order in which partition_compile()
 * calls them, before any other thread sees the partition.
 *
 * Errors: those of partition_compile(). */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Computes nodes whose inputs are all constants (fold.c). All constants must have their values, and the
 * schedule must not be built yet. RESOURCE_EXHAUSTED. */
MUST_USE Status fold_constants(Call *call, Partition *partition);

/* Fuses neighbouring element-wise nodes into one node (fuse.c). RESOURCE_EXHAUSTED. */
MUST_USE Status fuse_elementwise(Call *call, Partition *partition);

/* Fills in frames, cells, slots, edges and costs as schedule.h describes them, of a partition whose nodes
 * have their kinds, kernels and values already (schedule_build.c). INVALID_ARGUMENT when nodes contradict
 * each other about their loops, or when a feed or fetch is inside a loop; RESOURCE_EXHAUSTED when the
 * partition's arena is full. */
MUST_USE Status schedule_build(Call *call, Partition *partition);
