/* What fused kernels do with the sums in their output (shared/ops/epilogue.h), in double, rounded once.
 * Threads: any. */
#pragma once

#include "shared/ops/epilogue.h"
#include "worker/runtime/kernel.h"

/* No more operands than a node can have that is right. */
bool epilogue_supports(const Node *node);

/* Output 0 holds the sums; the operands have been checked. Channels are its dimension `channel`. */
MUST_USE Status epilogue_finish(KernelContext *context, int channel);
