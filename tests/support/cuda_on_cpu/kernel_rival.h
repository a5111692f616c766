/* The card's kernels as a rival of the reference kernels (op_case.h): inputs are copied to the card, the
 * first kernel of the plugin that supports the node computes in its lane, and outputs are copied back. */
#pragma once

#include "tests/support/cuda_on_cpu/cuda_bench.h"
#include "tests/support/op_case.h"
#include "worker/runtime/kernel.h"

/* Returns the plugin's first kernel that supports the node; NULL when there is none. */
const Kernel *cuda_kernel_find(const Node *node);

/* Runs each case for each dtype, as op_cases_compare(). A node for which the plugin has no kernel fails. */
void cuda_cases_compare(const OpCase *cases, size_t count, const Dtype *dtypes, size_t dtype_count);
