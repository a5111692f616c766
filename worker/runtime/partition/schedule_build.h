/* Builds the schedule of a partition as schedule.h describes it: divides nodes into frames, gives each a
 * cell and slots, and turns inputs into edges.
 *
 * Threads: one. */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Fills in frames, cells, slots, edges and costs of `partition`, whose nodes have their kinds, kernels and
 * values already. INVALID_ARGUMENT when nodes contradict each other about their loops, or when a feed or
 * fetch is inside a loop; RESOURCE_EXHAUSTED when the partition's arena is full. */
MUST_USE Status schedule_build(Call *call, Partition *partition);
