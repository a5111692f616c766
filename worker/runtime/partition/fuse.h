/* Fuses neighbouring element-wise nodes into one node that computes them tile by tile (fused.h), if nobody
 * else reads what lies between them. Exact: not a bit of any result changes.
 *
 * The fused node has the id and the name of the last node of its group; the name of its op lists all of
 * them, for traces. When an input is dead, the nodes that it does not reach are still computed, because
 * they may fail.
 *
 * Threads: one.
 * Errors:  RESOURCE_EXHAUSTED. */
#pragma once

#include "worker/runtime/partition/schedule.h"

MUST_USE Status fuse_elementwise(Call *call, Partition *partition);
