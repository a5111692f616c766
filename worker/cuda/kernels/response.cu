#include "worker/cuda/kernels/response.h"

#include "worker/cuda/kernels/index.cuh"

/* Channels of one position. */
struct Region {
    int64_t first;
    int64_t last;
};

/* Returns the channels that lie between `before` in front of one and `after` behind it. */
__device__ __forceinline__ Region
region_of(const CudaResponse &response, int64_t channel, int64_t before, int64_t after)
{
    int64_t room = response.size - 1 - channel;
    return {channel < before ? 0 : channel - before, channel + (room < after ? room : after)};
}

/* Returns bias + alpha × Σ x² over the region of the channel of element `at`. */
template <typename T>
__device__ __forceinline__ Accumulator<T>
base_of(const CudaResponse &response, const T *input, int64_t at, int64_t channel)
{
    using C = Accumulator<T>;
    Region region = region_of(response, channel, response.before, response.after);
    C squares = 0;
    for (int64_t n = region.first; n <= region.last; n++) {
        C x = load(input, at + (n - channel) * response.inner);
        squares = multiply_add(x, x, squares);
    }
    return (C)response.bias + (C)response.alpha * squares;
}

template <typename T>
__global__ void
response_kernel(const CudaResponse response, const T *input, T *output, int64_t count)
{
    using C = Accumulator<T>;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        C base = base_of(response, input, at, at / response.inner % response.size);
        store(output, at, load(input, at) / pow(base, (C)response.beta));
    }
}

/* Each element gathers from the outputs in whose regions it lies. */
template <typename T>
__global__ void
response_gradient_kernel(const CudaResponseGradient gradient, int64_t count)
{
    using C = Accumulator<T>;
    const CudaResponse &response = gradient.response;
    const T *input = (const T *)gradient.input;
    C factor = 2 * (C)response.alpha * (C)response.beta;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        int64_t channel = at / response.inner % response.size;
        Region region = region_of(response, channel, response.after, response.before);
        C own = load(input, at);
        C sum = 0;
        for (int64_t n = region.first; n <= region.last; n++) {
            int64_t other = at + (n - channel) * response.inner;
            C base = base_of(response, input, other, n);
            C direct = n == channel ? (C)pow(base, -(C)response.beta) : (C)0;
            C indirect = factor * own * load((const T *)gradient.output, other) / base;
            sum += load((const T *)gradient.gradients, other) * (direct - indirect);
        }
        store((T *)gradient.result, at, sum);
    }
}

template <typename T>
static cudaError_t
respond(const CudaResponse *response, const void *input, void *output, cudaStream_t stream)
{
    int64_t count = response->outer * response->size * response->inner;
    if (count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(response_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream, *response,
        (const T *)input, (T *)output, count);
}

extern "C" int
cuda_response(
    CudaType type, const CudaResponse *response, const void *input, void *output, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, respond<T>(response, input, output, stream));
}

template <typename T>
static cudaError_t
spread(const CudaResponseGradient *gradient, cudaStream_t stream)
{
    const CudaResponse *response = &gradient->response;
    int64_t count = response->outer * response->size * response->inner;
    return count == 0 ? cudaSuccess
                      : cuda_launch(response_gradient_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0,
                            stream, *gradient, count);
}

extern "C" int
cuda_response_gradient(CudaType type, const CudaResponseGradient *gradient, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, spread<T>(gradient, stream));
}
