#include "worker/cuda/kernels/causal.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

/* Returns the input at a position, which may lie before the first one. */
template <typename T>
__device__ __forceinline__ Accumulator<T>
value_at(const CudaCausal &causal, int64_t line, int64_t position)
{
    if (position >= 0) {
        return load((const T *)causal.input, line * causal.length + position);
    }
    return causal.past == nullptr ? (Accumulator<T>)0
                                  : load((const T *)causal.past, line * causal.kept + causal.kept + position);
}

template <typename T, typename C>
__global__ void
causal_kernel(CudaCausal causal)
{
    for (int64_t i = index_first(); i < causal.lines * causal.length; i += index_step()) {
        int64_t line = index_quotient(i, causal.length);
        int64_t position = i - line * causal.length;
        int64_t channel = line - index_quotient(line, causal.channels) * causal.channels;
        C sum = causal.bias == nullptr ? (C)0 : load((const T *)causal.bias, channel);
        for (int64_t n = 0; n <= causal.kept; n++) {
            C weight = load((const T *)causal.weight, channel * (causal.kept + 1) + n);
            sum = multiply_add(value_at<T>(causal, line, position - causal.kept + n), weight, sum);
        }
        store((T *)causal.output, i, causal.is_activated ? sum / (1 + exp(-sum)) : sum);
    }
}

template <typename T>
__global__ void
causal_state_kernel(CudaCausal causal)
{
    for (int64_t i = index_first(); i < causal.lines * causal.kept; i += index_step()) {
        int64_t line = index_quotient(i, causal.kept);
        int64_t position = causal.length - causal.kept + (i - line * causal.kept);
        store((T *)causal.state, i, value_at<T>(causal, line, position));
    }
}

template <typename T>
static cudaError_t
convolve(const CudaCausal *causal, cudaStream_t stream)
{
    cudaError_t error = causal->lines * causal->length == 0 ? cudaSuccess
                                                            : cuda_launch(causal_kernel<T, Accumulator<T>>,
                                                                  index_grid(causal->lines * causal->length),
                                                                  dim3(INDEX_THREADS), 0, stream, *causal);
    return error != cudaSuccess || causal->lines * causal->kept == 0
               ? error
               : cuda_launch(causal_state_kernel<T>, index_grid(causal->lines * causal->kept),
                     dim3(INDEX_THREADS), 0, stream, *causal);
}

extern "C" int
cuda_causal(CudaType type, const CudaCausal *causal, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, convolve<T>(causal, stream));
}
