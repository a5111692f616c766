/* Constant folding: a node whose inputs are all constants is computed once, when its partition is
 * compiled, by the same kernel that would run in each step, so that the bits are the same.
 *
 * Not folded: nodes with state, with control inputs or with more than one output, nodes of control flow,
 * and nodes that return handles; results over 10 MiB (TensorFlow's limit), unless they are no larger than
 * the inputs; and nodes that fail, so that the run which needs them fails as it always did. */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Folds the nodes that can be. All constants must have their values, and the schedule must not be built
 * yet. RESOURCE_EXHAUSTED. */
MUST_USE Status fold_constants(Call *call, Partition *partition);
