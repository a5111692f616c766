/* Networks that run on an accelerator plainly and captured (worker/runtime/captures.h), and must have the
 * same bits. The accelerator of the fixture captures; tests choose which one it is.
 *
 * Threads: one. */
#pragma once

#include "tests/support/partition_runs.h"

/* Random networks of element-wise ops, products and reshapes, each run several times with other values, and
 * with tensors of another shape in between. */
void captured_networks_compare(RunFixture *fixture, uint32_t first_seed, uint32_t count);

/* Steps of gradient descent on a variable: each starts from what the one before has left. */
void captured_training_compare(RunFixture *fixture);
