/* Outputs as the op's own shape rule sizes them: the rule checks the inputs' shapes and values, so that a
 * kernel never sees a combination that does not fit.
 * Errors: what the rule says; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

/* What a shape rule is told, from a running kernel: shared/ops answers kernels with it, too. */
enum { INFER_INPUTS_MAX = 8 };

typedef struct KernelInference {
    InferContext context;
    Shape shapes[INFER_INPUTS_MAX];
    const Tensor *values[INFER_INPUTS_MAX];
} KernelInference;

/* For nodes of at most INFER_INPUTS_MAX inputs; ret_outputs[context->output_count] may be NULL. */
void kernel_inference(const KernelContext *context, Shape *ret_outputs, KernelInference *ret_inference);

/* What the rule says of ret_shapes[context->output_count]: the inputs fit; what only the run knows is
 * unknown. */
MUST_USE Status output_rule(KernelContext *context, Shape *ret_shapes);

/* The same, where all of it must be known. */
MUST_USE Status output_shapes(KernelContext *context, Shape *ret_shapes);

/* The one output of the node, uninitialised. */
MUST_USE Status output_new(KernelContext *context, Tensor **ret_output);

/* As output_new(), or input `input` taken over when it has the output's dtype and size and nobody else
 * needs it: for element-wise kernels. */
MUST_USE Status output_forward(KernelContext *context, uint32_t input, Tensor **ret_output);

/* The same for a kernel that knows the shape. */
MUST_USE Status output_forward_shaped(
    KernelContext *context, uint32_t input, const Shape *shape, Tensor **ret_output);
