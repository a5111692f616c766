/* CUDA's language for a C++ compiler: included in front of each .cu file that is compiled for the CPU, in
 * place of what nvcc knows. worker/cuda/kernels/launch.cuh has the same for nvcc. */
#pragma once

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/support/cuda_on_cpu/grid.h"
#include "tests/support/cuda_on_cpu/streams.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __forceinline__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __forceinline__ inline

#define threadIdx (grid_thread->index)
#define blockIdx (grid_block.index)
#define blockDim (grid_block.size)
#define gridDim (grid_block.grid)
#define warpSize 32

#define DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(grid_block.dynamic_shared)

inline void
__syncthreads()
{
    grid_barrier();
}

inline void
__syncwarp(unsigned mask = 0xffffffffU)
{
    grid_warp_barrier(mask);
}

inline void
__threadfence()
{
}

/* Gives every lane the value of another. */
template <typename T>
inline T
cuda_on_cpu_shuffle(unsigned mask, T value, int from_lane)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = grid_shuffle(mask, bits, from_lane);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
inline T
__shfl_sync(unsigned mask, T value, int lane, int width = warpSize)
{
    int base = grid_thread->lane & ~(width - 1);
    return cuda_on_cpu_shuffle(mask, value, base + (lane & (width - 1)));
}

template <typename T>
inline T
__shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize)
{
    int lane = grid_thread->lane;
    int from = lane ^ bits;
    return cuda_on_cpu_shuffle(mask, value, (from & ~(width - 1)) == (lane & ~(width - 1)) ? from : lane);
}

template <typename T>
inline T
__shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize)
{
    int lane = grid_thread->lane;
    int from = lane + static_cast<int>(by);
    return cuda_on_cpu_shuffle(mask, value, (from & ~(width - 1)) == (lane & ~(width - 1)) ? from : lane);
}

template <typename T>
inline T
__shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize)
{
    int lane = grid_thread->lane;
    int from = lane - static_cast<int>(by);
    return cuda_on_cpu_shuffle(
        mask, value, from >= 0 && (from & ~(width - 1)) == (lane & ~(width - 1)) ? from : lane);
}

inline unsigned
__ballot_sync(unsigned mask, int predicate)
{
    unsigned all = 0;
    for (int lane = 0; lane < warpSize; lane++) {
        if ((mask >> lane & 1U) != 0 && cuda_on_cpu_shuffle(mask, predicate, lane) != 0) {
            all |= 1U << lane;
        }
    }
    return all;
}

template <typename T>
inline T
__ldg(const T *pointer)
{
    return *pointer;
}

/* The blocks of a kernel, and the threads of a block, run on one thread of the CPU. */
template <typename T>
inline T
atomicAdd(T *at, T value)
{
    T before = *at;
    *at = before + value;
    return before;
}

template <typename T>
inline T
atomicMax(T *at, T value)
{
    T before = *at;
    *at = before > value ? before : value;
    return before;
}

template <typename T>
inline T
atomicMin(T *at, T value)
{
    T before = *at;
    *at = before < value ? before : value;
    return before;
}

template <typename T>
inline T
atomicCAS(T *at, T expected, T value)
{
    T before = *at;
    if (before == expected) {
        *at = value;
    }
    return before;
}

template <typename T>
inline T
atomicExch(T *at, T value)
{
    T before = *at;
    *at = value;
    return before;
}

template <typename... P> struct CudaOnCpuArguments {
    void (*kernel)(P...);
    std::tuple<P...> values;

    static void
    run(void *held)
    {
        auto *arguments = static_cast<CudaOnCpuArguments *>(held);
        std::apply(arguments->kernel, arguments->values);
    }
};

/* Enqueues a kernel; what it is given is copied, as the device does. */
template <typename... P, typename... A>
inline cudaError_t
cuda_launch(
    void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_size, cudaStream_t stream, A... arguments)
{
    using Arguments = CudaOnCpuArguments<P...>;
    static_assert(std::is_trivially_destructible<Arguments>::value, "a device copies the bytes of arguments");
    void *room = malloc(sizeof(Arguments));
    assert(room != nullptr);
    KernelLaunch launch = {reinterpret_cast<const void *>(kernel), grid, block, shared_size, Arguments::run,
        new (room) Arguments{kernel, std::tuple<P...>(P(arguments)...)}};
    return cuda_on_cpu_launch(&launch, stream);
}
