/* Variables whose elements a kernel changes on the card.
 *
 * Threads: as kernels. */
#pragma once

#include "worker/runtime/variable.h"

/* Finds where a variable's new elements go: into the old ones' place when nobody reads these, else into
 * memory of their own, which *ret_made holds (it is left alone otherwise) until variable_replace() takes it.
 * Needs the variable's lock, behind variable_reach(). RESOURCE_EXHAUSTED. */
MUST_USE Status cuda_variable_place(
    KernelContext *context, Variable *variable, Tensor *ret_made, void **ret_place);
