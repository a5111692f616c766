#include "worker/cuda/kernels/response.h"

#include "worker/cuda/kernels/index.cuh"

template <typename T>
__global__ void
response_kernel(const CudaResponse response, const T *input, T *output, int64_t count)
{
    using C = Accumulator<T>;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        int64_t channel = at / response.inner % response.size;
        int64_t first = channel < response.before ? 0 : channel - response.before;
        int64_t room = response.size - 1 - channel;
        int64_t last = channel + (room < response.after ? room : response.after);
        C squares = 0;
        for (int64_t n = first; n <= last; n++) {
            C x = load(input, at + (n - channel) * response.inner);
            squares = multiply_add(x, x, squares);
        }
        C base = (C)response.bias + (C)response.alpha * squares;
        store(output, at, load(input, at) / pow(base, (C)response.beta));
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
