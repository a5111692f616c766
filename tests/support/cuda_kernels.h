/* Kernels of the CUDA plugin, run without a GPU (tests/support/cuda_on_cpu) and compared with the reference
 * kernels: the outputs, and of a failure its code and message.
 *
 * Each tensor of the card has a block of its own, so that a write behind it ends the process.
 * Threads: one. */
#pragma once

#include "worker/runtime/kernel.h"

enum { CUDA_CASE_INPUTS_MAX = 12 };

/* Inputs are tensor literals (tensor_literals.h) or stand for several: in "T[2,3]" T becomes each dtype that
 * the kernel takes; where no elements stand, they are drawn. So does "=T" in the attributes. */
typedef struct CudaKernelCase {
    const char *op;
    const char *attrs; /* as in OpCase */
    const char *inputs[CUDA_CASE_INPUTS_MAX];
} CudaKernelCase;

/* Opens and closes the card that the kernels run on; for each group of tests. With CUDA_LIBRARIES in the
 * environment a fact is printed in the end: how much the vendor's libraries computed. */
int cuda_kernels_set_up(void **state);
int cuda_kernels_tear_down(void **state);

/* Says whether kernels may multiply float32 in TF32 from now on, as partitions do; at first, and after each
 * set-up, they may not. */
void cuda_kernels_allow_tf32(bool is_allowed);

/* Runs all cases in all dtypes that the kernels take, and fails the test when one differs, or when no dtype
 * of a case is taken. Elements that are written down are of the dtypes that have such: complex ones have
 * none, and nan, inf and fractions are floating. */
void cuda_kernels_compare(const CudaKernelCase *cases, size_t count);

/* Does the same in these dtypes, each of which a kernel must take. */
void cuda_kernels_compare_in(
    const CudaKernelCase *cases, size_t count, const Dtype *dtypes, size_t dtype_count);

/* Returns whether a case was compared for an op since the set-up. */
bool cuda_kernels_compared(const char *op);

/* Fails the test when a kernel of this family (the name of its file: "pooling") had no case since the set-up,
 * none in a dtype that it takes for the inputs of some case, or none with a tensor without elements and with
 * one of more elements than a block has threads. */
void cuda_kernels_expect_cases(const char *family);

/* Does the same with all families but these, whose cases are in programs of their own. */
void cuda_kernels_expect_all_cases(const char *const *others, size_t count);
