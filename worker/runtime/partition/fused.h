/* The kernel of fused element-wise nodes: each tile of the result passes through all of them before the
 * next one begins, so that values between them never leave the cache. Each element is computed by the same
 * loop as in the node's own kernel, so that not a bit differs. Nodes whose shape differs from the result's
 * are computed first, by their own kernels.
 *
 * The plan for a combination of input shapes is made when it is first seen, and kept.
 *
 * Ownership: a Fused lies in its partition's arena; destroy() of the kernel frees its plans.
 * Threads:   runs share a Fused.
 * Errors:    those of the nodes' own kernels, under the nodes' names. */
#pragma once

#include "worker/runtime/partition/fused_plan.h"

/* The kernels of a fused node, on the host and on an accelerator; their state is a Fused. An accelerator has
 * no tiles: it computes the group by a kernel of its own (KernelFusion) or, until that is there, node by
 * node. */
extern const Kernel fused_kernel;
extern const Kernel fused_device_kernel;

/* Frees the states of a fused node on an accelerator, as far as they are made. */
void fused_device_clear(const Fused *fused);
