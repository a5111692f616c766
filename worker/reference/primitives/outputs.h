/* Outputs as the op's own shape rule sizes them: the rule checks the inputs' shapes and values, so that a
 * kernel never sees a combination that does not fit.
 * Errors: what the rule says; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

/* ret_shapes[context->output_count] */
MUST_USE Status output_shapes(KernelContext *context, Shape *ret_shapes);

/* The one output of the node, uninitialised. */
MUST_USE Status output_new(KernelContext *context, Tensor **ret_output);

/* As output_new(), or input `input` taken over when it has the output's dtype and size and nobody else
 * needs it: for element-wise kernels. */
MUST_USE Status output_forward(KernelContext *context, uint32_t input, Tensor **ret_output);
