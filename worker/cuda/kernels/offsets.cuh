/* The index of an element of the output, and from it those of elements of operands with other strides.
 *
 * Valid for nvcc, NVRTC and a C++ compiler that stands in for them. */
#pragma once

#include "worker/cuda/kernels/language.cuh"

__device__ __forceinline__ int64_t
index_first()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ int64_t
index_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Divides numbers that are not negative. A division of 32 bits takes a third of the time of one of 64. */
__device__ __forceinline__ int64_t
index_quotient(int64_t a, int64_t b)
{
    return (a | b) <= UINT32_MAX ? (uint32_t)a / (uint32_t)b : a / b;
}

/* Adds to offsets[k] what element `index` of these sizes, outermost first, has by strides[k]. */
template <int OPERANDS, int RANK>
__device__ __forceinline__ void
index_offsets(int64_t index, int rank, const int64_t *sizes, const int64_t (*strides)[RANK], int64_t *offsets)
{
    if (index <= INT32_MAX) {
        uint32_t rest = (uint32_t)index;
        for (int d = rank - 1; d >= 0 && rest > 0; d--) {
            uint32_t size = sizes[d] > INT32_MAX ? INT32_MAX : (uint32_t)sizes[d];
            uint32_t at = rest % size;
            rest /= size;
            for (int k = 0; k < OPERANDS; k++) {
                offsets[k] += at * strides[k][d];
            }
        }
        return;
    }
    for (int d = rank - 1; d >= 0; d--) {
        int64_t at = index % sizes[d];
        index /= sizes[d];
        for (int k = 0; k < OPERANDS; k++) {
            offsets[k] += at * strides[k][d];
        }
    }
}
