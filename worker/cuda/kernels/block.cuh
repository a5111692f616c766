/* Values of all threads of a block joined by one tree, whose form depends on the block's size alone: the same
 * bits whatever the grid is. */
#pragma once

#include "worker/cuda/kernels/types.cuh"

enum { WARP_THREADS = 32, WARPS_MAX = 32 };

/* Every thread of the block, whose size is a multiple of WARP_THREADS, gets the joined value. F::join() must
 * be associative but for rounding, and F::none() its neutral element. */
template <typename F, typename C>
__device__ __forceinline__ C
block_join(C value)
{
    __shared__ C parts[WARPS_MAX];
    int lane = (int)threadIdx.x % WARP_THREADS;
    int warp = (int)threadIdx.x / WARP_THREADS;
    int warps = (int)blockDim.x / WARP_THREADS;
    for (int by = WARP_THREADS / 2; by > 0; by /= 2) {
        value = F::join(value, __shfl_xor_sync(0xffffffffU, value, by));
    }
    if (lane == 0) {
        parts[warp] = value;
    }
    __syncthreads();
    value = lane < warps ? parts[lane] : F::none();
    for (int by = WARP_THREADS / 2; by > 0; by /= 2) {
        value = F::join(value, __shfl_xor_sync(0xffffffffU, value, by));
    }
    __syncthreads(); /* the next call writes `parts` again */
    return value;
}

/* The joining of a sum. */
template <typename C> struct BlockSum {
    static __device__ __forceinline__ C
    none()
    {
        return 0;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a + b;
    }
};

/* The joining of the least place. */
struct BlockLeast {
    static __device__ __forceinline__ int64_t
    none()
    {
        return INT64_MAX;
    }
    static __device__ __forceinline__ int64_t
    join(int64_t a, int64_t b)
    {
        return a < b ? a : b;
    }
};

/* Every thread of the block, whose size is a multiple of WARP_THREADS, gets the sum of the values of all
 * threads before it, and that of all. For integers: the order of additions is not said. */
template <typename C>
__device__ __forceinline__ C
block_scan(C value, C *ret_all)
{
    __shared__ C sums[WARPS_MAX];
    int lane = (int)threadIdx.x % WARP_THREADS;
    int warp = (int)threadIdx.x / WARP_THREADS;
    int warps = (int)blockDim.x / WARP_THREADS;
    C scanned = value;
    for (int by = 1; by < WARP_THREADS; by *= 2) {
        C before = __shfl_up_sync(0xffffffffU, scanned, by);
        scanned += lane >= by ? before : 0;
    }
    if (lane == WARP_THREADS - 1) {
        sums[warp] = scanned;
    }
    __syncthreads();
    C first = 0;
    C all = 0;
    for (int other = 0; other < warps; other++) {
        first += other < warp ? sums[other] : 0;
        all += sums[other];
    }
    __syncthreads(); /* the next call writes `sums` again */
    *ret_all = all;
    return first + scanned - value;
}
