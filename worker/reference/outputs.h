/* Outputs sized by the op's own shape rule, which checks the inputs' shapes and values first: a kernel
 * never sees a combination that does not fit.
 * Errors: those of the rule; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

/* The arguments of a shape rule, made of a running kernel's inputs. */
enum { INFER_INPUTS_MAX = 12 };

typedef struct KernelInference {
    InferContext context;
    Shape shapes[INFER_INPUTS_MAX];
    const Tensor *values[INFER_INPUTS_MAX];
} KernelInference;

/* Fills the arguments for a node of at most INFER_INPUTS_MAX inputs; ret_outputs[context->output_count]
 * may be NULL. */
void kernel_inference(const KernelContext *context, Shape *ret_outputs, KernelInference *ret_inference);

/* Asks the rule for ret_shapes[context->output_count], and so whether the inputs fit. Dimensions that only
 * computing tells are unknown. */
MUST_USE Status output_rule(KernelContext *context, Shape *ret_shapes);

/* Does the same as output_rule() for a node whose shapes are all told by its rule. */
MUST_USE Status output_shapes(KernelContext *context, Shape *ret_shapes);

/* Makes the node's only output, uninitialised. */
MUST_USE Status output_new(KernelContext *context, Tensor **ret_output);

/* Does the same as output_new(), but takes over input `input` when it has the output's dtype and size and
 * nobody else needs it: for element-wise kernels. */
MUST_USE Status output_forward(KernelContext *context, uint32_t input, Tensor **ret_output);

/* Does the same as output_forward() for a kernel that knows the shape. */
MUST_USE Status output_forward_shaped(
    KernelContext *context, uint32_t input, const Shape *shape, Tensor **ret_output);
