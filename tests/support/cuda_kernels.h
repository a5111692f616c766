/* Kernels of the CUDA plugin, run without a GPU (tests/support/cuda_on_cpu) and compared with the reference
 * kernels: the outputs, and of a failure its code and message.
 *
 * Each tensor of the card has a block of its own, so that a write behind it ends the process.
 * Threads: one. */
#pragma once

#include "worker/runtime/kernel.h"

enum { CUDA_CASE_INPUTS_MAX = 12 };

/* Inputs are tensor literals (tensor_literals.h) or stand for several: in "T[2,3]" T becomes each dtype that
 * the kernel takes; where no elements stand, they are drawn. */
typedef struct CudaKernelCase {
    const char *op;
    const char *attrs; /* as in OpCase */
    const char *inputs[CUDA_CASE_INPUTS_MAX];
} CudaKernelCase;

/* Opens and closes the card that the kernels run on; for each group of tests. */
int cuda_kernels_set_up(void **state);
int cuda_kernels_tear_down(void **state);

/* Runs all cases in all dtypes that the kernels take, and fails the test when one differs, or when no dtype
 * of a case is taken. */
void cuda_kernels_compare(const CudaKernelCase *cases, size_t count);

/* Computes a node on the card and by the reference kernel, and returns the reference's outputs; INTERNAL when
 * they differ, CANCELLED when no kernel of the card supports the node. An OpCompute (op_case.h), for cases
 * that are written down already. */
Status cuda_kernels_compute(Call *call, const Node *node, Tensor *inputs, Tensor *outputs);

/* Returns whether a case was compared for an op since the set-up. */
bool cuda_kernels_compared(const char *op);
