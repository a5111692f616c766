#include "worker/cuda/kernels/einsum.h"

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

/* Sums the products from `first` on, each `step` behind the last, of the elements whose first are at `base`.
 */
template <typename T, typename C>
__device__ __forceinline__ C
sum_products(const CudaEinsum &einsum, const int64_t *base, int64_t first, int64_t step)
{
    C sum = 0;
    for (int64_t i = first; i < einsum.count; i += step) {
        int64_t at[CUDA_EINSUM_OPERANDS_MAX];
        for (int k = 0; k < CUDA_EINSUM_OPERANDS_MAX; k++) {
            at[k] = base[k];
        }
        index_offsets<CUDA_EINSUM_OPERANDS_MAX>(
            i, einsum.folded.rank, einsum.folded.sizes, einsum.folded.strides, at);
        C product = 1;
#pragma unroll
        for (int k = 0; k < CUDA_EINSUM_OPERANDS_MAX; k++) { /* a constant end keeps `at` in registers */
            product *= k < einsum.operand_count ? (C)load((const T *)einsum.operands[k], at[k]) : (C)1;
        }
        sum += product;
    }
    return sum;
}

/* A thread computes a sum. */
template <typename T, typename C>
__global__ void
short_sums_kernel(CudaEinsum einsum)
{
    for (int64_t i = index_first(); i < einsum.result_count; i += index_step()) {
        int64_t base[CUDA_EINSUM_POSITIONS_MAX] = {};
        index_offsets<CUDA_EINSUM_POSITIONS_MAX>(
            i, einsum.kept.rank, einsum.kept.sizes, einsum.kept.strides, base);
        store((T *)einsum.output, base[CUDA_EINSUM_OPERANDS_MAX], sum_products<T, C>(einsum, base, 0, 1));
    }
}

/* A block computes a sum. */
template <typename T, typename C>
__global__ void
long_sums_kernel(CudaEinsum einsum)
{
    for (int64_t i = blockIdx.x; i < einsum.result_count; i += gridDim.x) {
        int64_t base[CUDA_EINSUM_POSITIONS_MAX] = {};
        index_offsets<CUDA_EINSUM_POSITIONS_MAX>(
            i, einsum.kept.rank, einsum.kept.sizes, einsum.kept.strides, base);
        C sum = block_join<BlockSum<C>>(sum_products<T, C>(einsum, base, threadIdx.x, blockDim.x));
        if (threadIdx.x == 0) {
            store((T *)einsum.output, base[CUDA_EINSUM_OPERANDS_MAX], sum);
        }
    }
}

/* Which of the two computes follows from sizes alone, and so do the bits. */
template <typename T, typename C>
static cudaError_t
compute_sums(const CudaEinsum *einsum, cudaStream_t stream)
{
    if (einsum->result_count == 0) {
        return cudaSuccess;
    }
    if (einsum->count < INDEX_THREADS) {
        return cuda_launch(short_sums_kernel<T, C>, index_grid(einsum->result_count), dim3(INDEX_THREADS), 0,
            stream, *einsum);
    }
    int64_t blocks = einsum->result_count < INDEX_BLOCKS_MAX ? einsum->result_count : INDEX_BLOCKS_MAX;
    return cuda_launch(
        long_sums_kernel<T, C>, dim3((unsigned)blocks), dim3(INDEX_THREADS), 0, stream, *einsum);
}

extern "C" int
cuda_einsum(CudaType type, const CudaEinsum *einsum, cudaStream_t stream)
{
    TYPE_SWITCH(type, FLOATING_CASES((compute_sums<T, Accumulator<T>>(einsum, stream)))
                          SIGNED_CASES((compute_sums<T, uint64_t>(einsum, stream)))
                              UNSIGNED_CASES((compute_sums<T, uint64_t>(einsum, stream))))
}
