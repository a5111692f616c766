/* The operands of element-wise kernels: strides by which inputs broadcast to the output (NumPy's rules). */
#pragma once

#include "shared/tensor/tensor.h"
#include "worker/cuda/kernels/map.h"

/* Every input must broadcast to the output's shape; their last dimensions align. */
CudaMap operands_map(const Tensor *const *inputs, int input_count, const Tensor *output);
