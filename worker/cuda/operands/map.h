/* The operands of element-wise kernels: strides by which inputs broadcast to the output (NumPy's rules). */
#pragma once

#include "shared/tensor/tensor.h"
#include "worker/cuda/kernels/map.h"

enum { CUDA_WALK_INPUTS_MAX = 16 };

/* The arrays of a kernel's argument in which the walk through its inputs is written: of zeroes, the sizes of
 * CUDA_MAP_RANK_MAX elements, a row of strides for each input. */
typedef struct CudaWalk {
    int64_t *sizes;
    int64_t (*strides)[CUDA_MAP_RANK_MAX];
    int input_count;
} CudaWalk;

/* Writes the sizes of the output, merged where they can be, and by what strides the inputs broadcast to it.
 * Returns the rank. */
int operands_walk(const Tensor *const *inputs, const Shape *output, CudaWalk *walk);

/* Every input must broadcast to the output's shape; their last dimensions align. */
CudaMap operands_map(const Tensor *const *inputs, int input_count, const Tensor *output);
