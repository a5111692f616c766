/* The kernel of all element-wise functions. */
#pragma once

#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/functions.cuh"
#include "worker/cuda/kernels/index.cuh"

template <typename F, typename T, typename C, typename R>
__device__ __forceinline__ void
map_element(const CudaMap &map, const int64_t *at, int64_t i)
{
    map_stored<F, T, C, R>((const T *)map.inputs[0] + at[0], (const T *)map.inputs[1] + at[1],
        (const T *)map.inputs[2] + at[2], map.parameters, (R *)map.output + i);
}

/* The walk of rank 1 at most: each input goes on by its one stride. */
template <typename F, typename T, typename C, typename R>
__global__ void
map_line_kernel(CudaMap map)
{
    for (int64_t i = index_first(); i < map.count; i += index_step()) {
        int64_t at[CUDA_MAP_INPUTS_MAX] = {
            i * map.strides[0][0], i * map.strides[1][0], i * map.strides[2][0]};
        map_element<F, T, C, R>(map, at, i);
    }
}

template <typename F, typename T, typename C, typename R>
__global__ void
map_kernel(CudaMap map)
{
    for (int64_t i = index_first(); i < map.count; i += index_step()) {
        int64_t at[CUDA_MAP_INPUTS_MAX] = {0, 0, 0};
        index_offsets<F::inputs>(i, map.rank, map.sizes, map.strides, at);
        map_element<F, T, C, R>(map, at, i);
    }
}

/* T is stored, the function computes with C, the result is stored as R. */
template <typename F, typename T, typename C, typename R>
static cudaError_t
map_elements(const CudaMap *map, cudaStream_t stream)
{
    if (map == nullptr || map->count == 0) {
        return cudaSuccess;
    }
    dim3 grid = index_grid(map->count);
    if constexpr (F::inputs > 1) {
        if (map->rank > 1) {
            return cuda_launch(map_kernel<F, T, C, R>, grid, dim3(INDEX_THREADS), 0, stream, *map);
        }
    }
    return cuda_launch(map_line_kernel<F, T, C, R>, grid, dim3(INDEX_THREADS), 0, stream, *map);
}
