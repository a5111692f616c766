/* The finish of the sums of a product or a convolution before they leave the cache: an addend and an
 * activation, by the functions that element-wise kernels compute (worker/cpu/vector/functions.h), so that a
 * fused node and the nodes that it replaces give the same bits.
 *
 * Threads: any. */
#pragma once

#include "shared/ops/epilogue.h"
#include "worker/runtime/kernel.h"

/* Compared byte by byte. */
typedef struct Finish {
    int32_t activation;  /* an EpilogueActivation */
    uint32_t alpha_bits; /* the bits of a float */
} Finish;

/* Returns whether the steps of a fused node can be done here: no batch normalisation. */
bool finish_supports(const Node *node);

Finish finish_of(const Epilogue *epilogue);

/* Returns an operand's values; NULL when there is none. */
const float *finish_operand(const KernelContext *context, uint32_t input);

/* Finishes contiguous values; `addend` may be NULL. */
void finish_run(const Finish *finish, const float *addend, float *values, int64_t count);

/* A finish that only keeps values within limits: NaN stays, as it is neither below nor above them. */
typedef struct FinishLimits {
    float lowest;
    float highest;
    bool is_finished; /* nothing else is left to do */
} FinishLimits;

/* Returns the limits that are the whole finish of a value; infinite ones, which change nothing, when the
 * finish is more than that, or NULL. */
FinishLimits finish_limits(const Finish *finish);
