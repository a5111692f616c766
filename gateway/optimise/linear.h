/* One view of convolutions and matrix products: an input times weights, channel by channel. A factor of a
 * channel can be multiplied into its weights, and a fused form of the op can work on its sums.
 *
 * Threads: one.
 * Errors:  RESOURCE_EXHAUSTED. */
#pragma once

#include "gateway/optimise/rewrite.h"

typedef enum LinearKind {
    LINEAR_CONVOLUTION,
    LINEAR_PRODUCT,
} LinearKind;

enum { LINEAR_WEIGHTS = 1, LINEAR_BIAS = 2 }; /* positions of the inputs */

typedef struct LinearOp {
    const char *op;
    const char *fused; /* the op with an epilogue (shared/ops/epilogue.h); the same string as `op` when it
                        * is that */
    LinearKind kind;
    bool has_bias; /* the third input, which may be absent */
    /* Returns the shape in which one number a channel multiplies the weights. */
    Shape (*factor)(const Rewrite *rewrite, uint32_t id, int64_t channels);
} LinearOp;

/* Returns NULL unless the node gives float32 of known rank and number of channels. */
const LinearOp *linear_find(const Rewrite *rewrite, uint32_t id);

/* The table names both by one string. */
static inline bool
linear_is_fused(const LinearOp *op)
{
    return op->op == op->fused;
}

/* Return the position and the size of the output's dimension that counts channels. */
int linear_channel_axis(const Rewrite *rewrite, uint32_t id);
int64_t linear_channels(const Rewrite *rewrite, uint32_t id);

/* Returns true when a value of this shape has one number for each channel of the node's output, and
 * broadcasts to it. */
bool linear_fits_channels(const Rewrite *rewrite, uint32_t id, const Shape *shape);

/* Returns true when input `index` of a sum adds one number a channel to what the node gives. */
bool linear_is_bias(const Rewrite *rewrite, uint32_t id, uint32_t sum, uint32_t index);

/* Gives `value` another shape with as many elements; returns it as it is when it has that shape. */
MUST_USE Status linear_reshape(
    Rewrite *rewrite, uint32_t beside, Endpoint value, const Shape *shape, Endpoint *ret_reshaped);
