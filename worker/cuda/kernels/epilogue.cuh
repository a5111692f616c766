/* Applies an epilogue to one sum, in the type in which the kernel computes. */
#pragma once

#include "worker/cuda/kernels/epilogue.h"
#include "worker/cuda/kernels/types.cuh"

/* NaN passes through. */
template <typename C>
__device__ __forceinline__ C
clamp_value(C x, C low, C high)
{
    C raised = x < low ? low : x;
    return raised > high ? high : raised;
}

template <typename C>
__device__ C
activate(CudaActivation activation, C x, C alpha)
{
    switch (activation) {
    case CUDA_ACTIVATION_ELU:
        return x < 0 ? expm1(x) : x;
    case CUDA_ACTIVATION_GELU:
        return x * (1 + erf(x * (C)0.70710678118654752440)) / 2;
    case CUDA_ACTIVATION_GELU_TANH:
        return x * (1 + tanh((C)0.79788456080286535588 * (x + (C)0.044715 * x * x * x))) / 2;
    case CUDA_ACTIVATION_HARD_SWISH:
        return x * clamp_value((x + 3) / 6, (C)0, (C)1);
    case CUDA_ACTIVATION_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case CUDA_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case CUDA_ACTIVATION_RELU6:
        return clamp_value(x, (C)0, (C)6);
    case CUDA_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case CUDA_ACTIVATION_SWISH:
        return x / (1 + exp(-x));
    case CUDA_ACTIVATION_TANH:
        return tanh(x);
    case CUDA_ACTIVATION_NONE:
        break;
    }
    return x;
}

/* `position` is the element's index in the output, `channel` that of its per-channel operands. */
template <typename T, typename C>
__device__ __forceinline__ C
finish_sum(const CudaEpilogue &epilogue, C x, int64_t position, int64_t channel)
{
    if (epilogue.bias != nullptr) {
        x += load((const T *)epilogue.bias, channel);
    }
    if (epilogue.scale != nullptr) {
        C variance = load((const T *)epilogue.variance, channel) + (C)epilogue.epsilon;
        C factor = load((const T *)epilogue.scale, channel) / sqrt(variance);
        x = (x - load((const T *)epilogue.mean, channel)) * factor +
            load((const T *)epilogue.offset, channel);
    }
    if (epilogue.addend != nullptr) {
        x += load((const T *)epilogue.addend, position);
    }
    return activate(epilogue.activation, x, (C)epilogue.alpha);
}
