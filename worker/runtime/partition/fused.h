/* Element-wise nodes as one kernel: a tile of the result is computed through all of them before the next one
 * begins, so that what lies between them never leaves the cache. Each node does with an element what its own
 * kernel would, so that not a bit differs; nodes that have another shape than the result are computed before,
 * by their own kernels.
 *
 * How shapes broadcast is planned when they are first seen and kept.
 *
 * Ownership: a Fused lies in its partition's arena; its plans are freed by the kernel's destroy().
 * Threads:   runs share it.
 * Errors:    as the nodes' own kernels have them, under their names. */
#pragma once

#include "worker/runtime/partition/fused_plan.h"

/* The kernel of a fused node; its state is a Fused. */
extern const Kernel fused_kernel;
