/* The epilogue of a fused node (shared/ops/epilogue.h) as kernels of the device take it.
 * Threads: any. */
#pragma once

#include "shared/ops/epilogue.h"
#include "worker/cuda/kernels/epilogue.h"
#include "worker/runtime/kernel.h"

/* Returns the steps with the operands that this run brings. No steps: all zero. */
CudaEpilogue operands_epilogue(const KernelContext *context, const Epilogue *epilogue);
