/* The steps after the sums of a fused kernel (shared/ops/epilogue.h), computed in double and rounded once.
 * Threads: any. */
#pragma once

#include "shared/ops/epilogue.h"
#include "worker/runtime/kernel.h"

/* False for a node with more operands than any valid one has. */
bool epilogue_supports(const Node *node);

/* Applies the steps to the sums in output 0. The operands have been checked; channels are dimension
 * `channel`. */
MUST_USE Status epilogue_finish(KernelContext *context, int channel);
