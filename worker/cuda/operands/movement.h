/* Kernels whose rules are those of the reference kernels, which run as they are and leave the moving of
 * elements to the card (worker/reference/moves.h). The functions of a row in a family's table.
 *
 * Threads: as kernels. */
#pragma once

#include "worker/runtime/kernel.h"

/* Returns whether there is a reference kernel that has no state of its own. */
bool cuda_movement_supports(const Node *node);

MUST_USE Status cuda_movement_create(Call *call, const Node *node, void **ret_state);
void cuda_movement_destroy(void *state);
MUST_USE Status cuda_movement_compute(KernelContext *context);
