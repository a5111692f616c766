/* What the source of a fused kernel is written with (source.h). What lies between two functions is rounded to
 * the type in which it would be stored. */
#pragma once

#include "worker/cuda/fusion/fused.h"
#include "worker/cuda/kernels/convert.cuh"
#include "worker/cuda/kernels/functions.cuh"
#include "worker/cuda/kernels/offsets.cuh"

/* Finds the elements of the inputs from which element `index` of the output is computed. */
template <int INPUTS>
__device__ __forceinline__ void
fused_seek(const CudaFused &fused, int64_t index, int64_t *at)
{
    bool is_line = fused.rank <= 1;
    for (int k = 0; k < INPUTS; k++) {
        at[k] = is_line ? index * fused.strides[k][0] : 0;
    }
    if (!is_line) {
        index_offsets<INPUTS>(index, (int)fused.rank, fused.sizes, fused.strides, at);
    }
}

template <typename T>
__device__ __forceinline__ T
fused_input(const CudaFused &fused, int input, const int64_t *at)
{
    return ((const T *)fused.inputs[input])[at[input]];
}

template <typename F, typename T, typename C, typename R>
__device__ __forceinline__ R
fused_step(const CudaFused &fused, int step, T a, T b, T c)
{
    R result;
    map_stored<F, T, C, R>(&a, &b, &c, fused.parameters[step], &result);
    return result;
}

/* Converts a stored value; W holds it exactly. */
template <typename T, typename W, typename R>
__device__ __forceinline__ R
fused_convert(T value, bool is_bool)
{
    R result;
    store_converted(&result, 0, (W)load(&value, 0), is_bool);
    return result;
}
