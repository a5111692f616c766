/* Inputs that a node may leave out.
 * Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

/* Returns NULL for an input that is left out. */
static inline const Tensor *
given_input(const KernelContext *context, uint32_t input)
{
    bool is_given = input < context->input_count && context->inputs[input].dtype != DTYPE_INVALID;
    return is_given ? &context->inputs[input] : NULL;
}

/* Returns its elements on the card; NULL without any, too. */
static inline const void *
given_data(const KernelContext *context, uint32_t input)
{
    const Tensor *tensor = given_input(context, input);
    return tensor == NULL ? NULL : tensor->data;
}
