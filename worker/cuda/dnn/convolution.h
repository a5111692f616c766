/* Convolutions and their gradients by cuDNN. What it cannot or will not compute is left to the plain kernel
 * (kernels/convolution.h, gradient.h), and counted by reason.
 *
 * Threads: the one whose turn the lane is; dnn_refusals() by any.
 * Errors:  RESOURCE_EXHAUSTED without memory for plans, the workspace or a packed filter; those of
 *          cuda_check(). */
#pragma once

#include "worker/cuda/dnn/description.h"
#include "worker/runtime/kernel.h"

/* Convolves in the context's lane. DNN_ACCEPTED in `ret_refusal`: it is enqueued, and `ret_rest` has the
 * steps of the epilogue that are still to be computed; otherwise nothing is. */
MUST_USE Status dnn_convolve(KernelContext *context, DnnKind kind, CudaType type,
    const CudaConvolution *convolution, DnnRefusal *ret_refusal, CudaEpilogue *ret_rest);

/* Returns how many convolutions were left to the plain kernel for this reason; those that were not for
 * DNN_ACCEPTED. */
uint64_t dnn_refusals(DnnRefusal refusal);
