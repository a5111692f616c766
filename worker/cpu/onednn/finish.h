/* The finish of the sums of a product or a convolution before they leave the cache: an addend and an
 * activation. oneDNN computes Elu, Gelu, Sigmoid and Tanh while it stores the sums; others are computed
 * here afterwards, tile by tile, since oneDNN's Relu makes 0 of NaN (and so does its Sigmoid on a CPU
 * without AVX2).
 *
 * Threads: any. */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "shared/ops/epilogue.h"
#include "worker/runtime/kernel.h"

/* Compared byte by byte. */
typedef struct Finish {
    int32_t activation;  /* an EpilogueActivation */
    uint32_t alpha_bits; /* the bits of a float */
} Finish;

/* Returns whether the steps of a fused node can be done here: no batch normalisation, and no addend before
 * an activation that oneDNN computes. */
bool finish_supports(const Node *node);

Finish finish_of(const Epilogue *epilogue);

/* Returns an operand's values; NULL when there is none. */
const float *finish_operand(const KernelContext *context, uint32_t input);

/* Makes attributes for the steps that oneDNN computes; the caller destroys them. With `accumulates` it
 * first adds what the destination holds. */
MUST_USE dnnl_status_t finish_attributes(
    const Finish *finish, bool accumulates, dnnl_primitive_attr_t *ret_attributes);

/* Does the other steps, over contiguous values; `addend` may be NULL. */
void finish_run(const Finish *finish, const float *addend, float *values, int64_t count);
