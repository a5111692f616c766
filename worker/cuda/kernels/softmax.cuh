/* The softmax of one line of scores by all threads of a block. The bits depend on the size of the block and
 * of the line alone. */
#pragma once

#include <cmath>

#include "worker/cuda/kernels/block.cuh"

/* A number that is not NaN wins over NaN, which the sum then shows. */
template <typename C> struct Largest {
    static __device__ __forceinline__ C
    none()
    {
        return -(C)INFINITY;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return fmax(a, b);
    }
};

/* Returns the largest of `size` elements that are `step` apart. */
template <typename T, typename C>
__device__ __forceinline__ C
find_largest(const T *input, int64_t size, int64_t step)
{
    C largest = Largest<C>::none();
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
        largest = Largest<C>::join(largest, load(input, i * step));
    }
    return block_join<Largest<C>>(largest);
}

/* Makes the softmax, or its logarithm, of `size` scores that are `step` apart. The largest is subtracted
 * first. A thread reads and writes elements of its own only, so that the output may be the input. */
template <typename T, typename C>
__device__ __forceinline__ void
softmax_line(const T *input, T *output, int64_t size, int64_t step, bool is_logarithm)
{
    C largest = find_largest<T, C>(input, size, step);
    C sum = 0;
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
        sum += exp(load(input, i * step) - largest);
    }
    sum = block_join<BlockSum<C>>(sum);
    C logarithm = log(sum);
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
        C score = load(input, i * step) - largest;
        store(output, i * step, is_logarithm ? score - logarithm : (C)exp(score) / sum);
    }
}
