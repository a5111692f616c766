/* Kernels that compute in double: every floating input is widened, every output begins as zeros in double
 * and is rounded once, at the end. Inputs that are no floats stay in context->inputs.
 *
 * Ownership: doubles_done() frees what doubles_begin() took, also after it failed.
 * Errors:    those of the op's shape rule; RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

enum { DOUBLES_TENSORS_MAX = 12 };

/* The memory that such a kernel takes, for its row in the table. */
#define DOUBLES_SCRATCH .wide_inputs = KERNEL_WIDENS_ALL, .wide_outputs = KERNEL_WIDENS_ALL

typedef struct Doubles {
    Tensor inputs[DOUBLES_TENSORS_MAX]; /* float64; DTYPE_INVALID where the input is no float */
    Tensor outputs[DOUBLES_TENSORS_MAX];
} Doubles;

/* Returns whether every input of the node is a float. Ops with several type attributes may have others. */
bool doubles_hold_inputs(const Node *node);

/* Makes outputs of the shapes that the op's rule gives; those of other dtypes are widened, too. */
MUST_USE Status doubles_begin(KernelContext *context, Doubles *ret_doubles);
MUST_USE Status doubles_finish(KernelContext *context, const Doubles *doubles);
void doubles_done(Doubles *doubles);
#define AUTO_DOUBLES CLEANUP(doubles_done) Doubles

static inline const double *
doubles_in(const Doubles *doubles, int input)
{
    return doubles->inputs[input].data;
}

static inline double *
doubles_out(const Doubles *doubles, int output)
{
    return doubles->outputs[output].data;
}
