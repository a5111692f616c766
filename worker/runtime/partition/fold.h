/* Constant folding: a node whose inputs are all constants is computed once, when its partition is compiled,
 * by the kernel that would have run it each time, so that the bits are the same.
 *
 * Left alone: what has state, gives a handle, takes part in control flow or waits for control edges; more
 * than one output; results over 10 MiB (TensorFlow's limit) unless they are smaller than what they are made
 * of; and what fails, so that the run which needs it fails where it always did. */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Folds what it can. All constants must have their values, and the schedule must not be laid out yet.
 * RESOURCE_EXHAUSTED. */
MUST_USE Status fold_constants(Call *call, Partition *partition);
