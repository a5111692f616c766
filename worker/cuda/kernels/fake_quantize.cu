/* Computed in float, by the operations of the reference kernel (shared/ops/quantize/fake_kernel.c): at
 * borders between steps the last bit decides. */
#include "worker/cuda/kernels/fake_quantize.h"

#include <cmath>

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/index.cuh"

struct FakeSteps {
    float lowest;
    float highest;
    float size;
    float inverse_size;
    bool is_empty; /* both limits are 0: so is every number */
};

__device__ __forceinline__ FakeSteps
steps_between(const CudaFakeQuantised &quantised, float low, float high)
{
    float size = (high - low) / (quantised.last - quantised.first);
    float zero = quantised.first - low / size;
    float nearest = zero < quantised.first  ? quantised.first
                    : zero > quantised.last ? quantised.last
                                            : roundf(zero);
    return {(quantised.first - nearest) * size, (quantised.last - nearest) * size, size,
        (quantised.last - quantised.first) / (high - low), low == 0 && high == 0};
}

/* A number that is none becomes the lowest one. */
__device__ __forceinline__ float
round_to_step(const FakeSteps &steps, float value)
{
    float clamped = value > steps.highest ? steps.highest : value >= steps.lowest ? value : steps.lowest;
    float shifted = clamped - steps.lowest;
    return steps.is_empty ? 0 : floorf(shifted * steps.inverse_size + 0.5F) * steps.size + steps.lowest;
}

/* All limits are looked at, those of channels without elements too: `total` is no less than the channels. */
static __global__ void
fake_quantize_kernel(CudaFakeQuantised quantised, int64_t total, CudaBlame blame)
{
    for (int64_t n = index_first(); n < total; n += index_step()) {
        int64_t channel = n - index_quotient(n, quantised.channels) * quantised.channels;
        float low = quantised.lowest == nullptr ? quantised.low : quantised.lowest[channel];
        float high = quantised.lowest == nullptr ? quantised.high : quantised.highest[channel];
        FakeSteps steps = steps_between(quantised, low, high);
        if (!steps.is_empty && !(low < high)) {
            refuse_numbers(blame, channel, (double)low, (double)high);
        }
        if (n < quantised.count && quantised.gradients == nullptr) {
            quantised.output[n] = round_to_step(steps, quantised.input[n]);
        } else if (n < quantised.count) {
            float value = quantised.input[n];
            bool is_within = value >= steps.lowest && value <= steps.highest;
            quantised.output[n] = is_within ? quantised.gradients[n] : 0;
        }
    }
}

extern "C" int
cuda_fake_quantize(const CudaFakeQuantised *quantised, const CudaBlame *blame, cudaStream_t stream)
{
    int64_t total = quantised->count > quantised->channels ? quantised->count : quantised->channels;
    return total == 0 ? (int)cudaSuccess
                      : (int)cuda_launch(fake_quantize_kernel, index_grid(total), dim3(INDEX_THREADS), 0,
                            stream, *quantised, total, *blame);
}
