/* The finish of a product's or a convolution's sums before they leave the cache: an addend and an activation.
 * oneDNN computes Elu, Gelu, Sigmoid and Tanh as it stores the sums; the others are computed here afterwards,
 * tile by tile, since oneDNN's Relu makes 0 of NaN (and so does its Sigmoid on a CPU without AVX2).
 * Threads: any. */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "shared/ops/epilogue.h"
#include "worker/runtime/kernel.h"

/* Compared byte by byte. */
typedef struct Finish {
    int32_t activation;  /* EpilogueActivation */
    uint32_t alpha_bits; /* of a float */
} Finish;

/* Whether a fused node's steps can be done here: no batch normalisation, no addend in front of what oneDNN
 * does itself. */
bool finish_supports(const Node *node);

Finish finish_of(const Epilogue *epilogue);

/* An operand's values; NULL when there is none. */
const float *finish_operand(const KernelContext *context, uint32_t input);

/* What oneDNN does of it, into new attributes: the caller destroys them. `accumulates`: first of all adds
 * what the destination holds. */
MUST_USE dnnl_status_t finish_attributes(
    const Finish *finish, bool accumulates, dnnl_primitive_attr_t *ret_attributes);

/* The rest, over contiguous values; `addend` may be NULL. */
void finish_run(const Finish *finish, const float *addend, float *values, int64_t count);
