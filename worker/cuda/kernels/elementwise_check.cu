/* Integers that a function may not be given: zero divisors, negative exponents. */
#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

static __global__ void
check_operands_kernel(
    CudaOperandRule rule, CudaType type, const void *operands, int64_t count, CudaBlame blame)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t value = 0;
        bool is_read = load_integer(type, operands, i, &value); /* if not, it is above INT64_MAX */
        if (is_read && (rule == CUDA_NOT_ZERO ? value == 0 : value < 0)) {
            refuse(blame, i, value, type);
        }
    }
}

extern "C" int
cuda_check_operands(CudaOperandRule rule, CudaType type, const void *operands, int64_t count,
    const CudaBlame *blame, cudaStream_t stream)
{
    return (int)(count == 0 ? cudaSuccess
                            : cuda_launch(check_operands_kernel, index_grid(count), dim3(INDEX_THREADS), 0,
                                  stream, rule, type, operands, count, *blame));
}
