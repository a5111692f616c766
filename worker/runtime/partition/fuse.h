/* Puts element-wise nodes that nobody but their neighbours reads into one node that computes them tile by
 * tile (fused.h). Exact: not a bit of any result changes.
 *
 * The fused node has the number and the name of the last node of its group; its op tells the
 * others, for traces. When one of its inputs is dead, the group's nodes that it does not concern are computed
 * for their errors alone.
 *
 * Threads: one. Errors: RESOURCE_EXHAUSTED. */
#pragma once

#include "worker/runtime/partition/schedule.h"

MUST_USE Status fuse_elementwise(Call *call, Partition *partition);
