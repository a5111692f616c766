/* Lays a partition's nodes out as schedule.h describes: divides them into frames, gives each a cell and
 * slots, and turns inputs into edges.
 *
 * Threads: one. */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Fills in everything of `partition` that runs count and walk by; nodes have their kinds, kernels and values
 * already. INVALID_ARGUMENT when nodes contradict each other about their loops, or when a loop has feeds or
 * fetches inside; RESOURCE_EXHAUSTED past the partition's arena. */
MUST_USE Status schedule_build(Call *call, Partition *partition);
