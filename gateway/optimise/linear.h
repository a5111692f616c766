/* Convolutions and matrix products seen alike: an input times weights, channel by channel. What multiplies a
 * channel may be multiplied into its weights; what is done to the sums may be done by a fused form of the op.
 *
 * Threads: one. Errors: RESOURCE_EXHAUSTED. */
#pragma once

#include "gateway/optimise/rewrite.h"

typedef enum LinearKind {
    LINEAR_CONVOLUTION,
    LINEAR_PRODUCT,
} LinearKind;

enum { LINEAR_WEIGHTS = 1, LINEAR_BIAS = 2 }; /* inputs */

typedef struct LinearOp {
    const char *op;
    const char *fused; /* the same with an epilogue (shared/ops/epilogue.h); itself when it has one */
    LinearKind kind;
    bool has_bias; /* its third input, when it is there */
    /* The shape under which one number a channel multiplies the weights. */
    Shape (*factor)(const Rewrite *rewrite, uint32_t id, int64_t channels);
} LinearOp;

/* A float32 node whose output's rank and number of channels are known; NULL for another. */
const LinearOp *linear_find(const Rewrite *rewrite, uint32_t id);

/* The table names both by one string. */
static inline bool
linear_is_fused(const LinearOp *op)
{
    return op->op == op->fused;
}

/* Which dimension of the output the channels are, and how many. */
int linear_channel_axis(const Rewrite *rewrite, uint32_t id);
int64_t linear_channels(const Rewrite *rewrite, uint32_t id);

/* Whether a value of this shape has one number for each channel of the node's output, and broadcasts to it.
 */
bool linear_fits_channels(const Rewrite *rewrite, uint32_t id, const Shape *shape);

/* Whether input `index` of a sum adds one number a channel to what the node gives. */
bool linear_is_bias(const Rewrite *rewrite, uint32_t id, uint32_t sum, uint32_t index);

/* `value` under another shape of as many elements; itself when that is its shape. */
MUST_USE Status linear_reshape(
    Rewrite *rewrite, uint32_t beside, Endpoint value, const Shape *shape, Endpoint *ret_reshaped);
