#include "worker/cuda/kernels/quantize.h"

#include <cmath>

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

__device__ __forceinline__ int64_t
scale_position(const CudaScaling &scaling, int64_t n)
{
    return n / scaling.inner % scaling.size;
}

__device__ __forceinline__ double
load_scale(const CudaScaling &scaling, int64_t position)
{
    switch (scaling.type) {
    case CUDA_FLOAT16:
        return load((const __half *)scaling.scales, position);
    case CUDA_BFLOAT16:
        return load((const __nv_bfloat16 *)scaling.scales, position);
    case CUDA_FLOAT32:
        return load((const float *)scaling.scales, position);
    default:
        return load((const double *)scaling.scales, position);
    }
}

template <typename T>
__device__ __forceinline__ T
load_zero_point(const CudaScaling &scaling, int64_t position)
{
    return scaling.zero_points == nullptr ? (T)0 : ((const T *)scaling.zero_points)[position];
}

/* Rounds, shifts and limits a quotient to an integer type. */
template <typename R>
__device__ __forceinline__ R
quantize_quotient(float quotient, double zero_point)
{
    constexpr bool is_signed = (R)(-1) < (R)1;
    constexpr int64_t values = (int64_t)1 << (8 * sizeof(R));
    constexpr double least = is_signed ? (double)(-values / 2) : 0;
    constexpr double most = is_signed ? (double)(values / 2 - 1) : (double)(values - 1);
    double whole = nearbyint((double)quotient) + zero_point;
    return (R)(!(whole > least) ? least : whole > most ? most : whole);
}

template <typename T, typename R>
__global__ void
quantize_kernel(CudaQuantised quantised)
{
    for (int64_t n = index_first(); n < quantised.count; n += index_step()) {
        int64_t position = scale_position(quantised.scaling, n);
        float scale = (float)load_scale(quantised.scaling, position);
        float quotient = (float)load((const T *)quantised.input, n) / scale;
        ((R *)quantised.output)[n] =
            quantize_quotient<R>(quotient, load_zero_point<R>(quantised.scaling, position));
    }
}

template <typename T, typename R>
static cudaError_t
quantize(const CudaQuantised *quantised, cudaStream_t stream)
{
    return cuda_launch(
        quantize_kernel<T, R>, index_grid(quantised->count), dim3(INDEX_THREADS), 0, stream, *quantised);
}

#define QUANTISED_CASES(call)                                                                                \
    TYPE_CASE(CUDA_INT8, int8_t, call)                                                                       \
    TYPE_CASE(CUDA_UINT8, uint8_t, call)                                                                     \
    TYPE_CASE(CUDA_INT16, int16_t, call)                                                                     \
    TYPE_CASE(CUDA_UINT16, uint16_t, call)

template <typename R>
static int
quantize_floats(CudaType from, const CudaQuantised *quantised, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(from, (quantize<T, R>(quantised, stream)));
}

extern "C" int
cuda_quantize(CudaType from, CudaType to, const CudaQuantised *quantised, cudaStream_t stream)
{
    TYPE_SWITCH(to, QUANTISED_CASES(quantize_floats<T>(from, quantised, stream)))
}

template <typename T, typename R>
__global__ void
dequantize_kernel(CudaQuantised quantised)
{
    for (int64_t n = index_first(); n < quantised.count; n += index_step()) {
        int64_t position = scale_position(quantised.scaling, n);
        double distance =
            (double)((const T *)quantised.input)[n] - (double)load_zero_point<T>(quantised.scaling, position);
        store((R *)quantised.output, n, (Accumulator<R>)(distance * load_scale(quantised.scaling, position)));
    }
}

template <typename T, typename R>
static cudaError_t
dequantize(const CudaQuantised *quantised, cudaStream_t stream)
{
    return cuda_launch(
        dequantize_kernel<T, R>, index_grid(quantised->count), dim3(INDEX_THREADS), 0, stream, *quantised);
}

template <typename I>
static int
dequantize_integers(CudaType to, const CudaQuantised *quantised, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(to, (dequantize<I, T>(quantised, stream)));
}

extern "C" int
cuda_dequantize(CudaType from, CudaType to, const CudaQuantised *quantised, cudaStream_t stream)
{
    TYPE_SWITCH(from, QUANTISED_CASES(dequantize_integers<T>(to, quantised, stream))
                          TYPE_CASE(CUDA_INT32, int32_t, dequantize_integers<T>(to, quantised, stream)))
}

template <typename T>
__global__ void
centre_kernel(CudaQuantised quantised)
{
    for (int64_t n = index_first(); n < quantised.count; n += index_step()) {
        int64_t position = scale_position(quantised.scaling, n);
        ((int32_t *)quantised.output)[n] = (int32_t)((const T *)quantised.input)[n] -
                                           (int32_t)load_zero_point<T>(quantised.scaling, position);
    }
}

template <typename T>
static cudaError_t
centre(const CudaQuantised *quantised, cudaStream_t stream)
{
    return cuda_launch(
        centre_kernel<T>, index_grid(quantised->count), dim3(INDEX_THREADS), 0, stream, *quantised);
}

extern "C" int
cuda_centre(CudaType from, const CudaQuantised *quantised, cudaStream_t stream)
{
    TYPE_SWITCH(from, QUANTISED_CASES(centre<T>(quantised, stream)))
}

static __global__ void
bias_kernel(CudaBias bias)
{
    for (int64_t n = index_first(); n < bias.count; n += index_step()) {
        double scale = (double)*bias.scale * (double)bias.scales[bias.has_one_scale ? 0 : n];
        bias.output[n] = (float)((double)bias.bias[n] * scale);
    }
}

extern "C" int
cuda_scale_bias(const CudaBias *bias, cudaStream_t stream)
{
    return (int)cuda_launch(bias_kernel, index_grid(bias->count), dim3(INDEX_THREADS), 0, stream, *bias);
}

/* NaN counts in neither extreme, and 0 in both. */
struct LowerEnd {
    static __device__ __forceinline__ float
    none()
    {
        return 0;
    }
    static __device__ __forceinline__ float
    join(float a, float b)
    {
        return fminf(a, b);
    }
};

struct UpperEnd {
    static __device__ __forceinline__ float
    none()
    {
        return 0;
    }
    static __device__ __forceinline__ float
    join(float a, float b)
    {
        return fmaxf(a, b);
    }
};

static __global__ void
range_parts_kernel(CudaRange range)
{
    float least = LowerEnd::none();
    float most = UpperEnd::none();
    for (int64_t n = index_first(); n < range.count; n += index_step()) {
        least = LowerEnd::join(least, range.input[n]);
        most = UpperEnd::join(most, range.input[n]);
    }
    least = block_join<LowerEnd>(least);
    most = block_join<UpperEnd>(most);
    if (threadIdx.x == 0) {
        range.parts[blockIdx.x] = least;
        range.parts[CUDA_RANGE_PARTS + blockIdx.x] = most;
    }
}

/* One block; a thread has a part. */
static __global__ void
scale_kernel(CudaRange range)
{
    float least = block_join<LowerEnd>(range.parts[threadIdx.x]);
    float most = block_join<UpperEnd>(range.parts[CUDA_RANGE_PARTS + threadIdx.x]);
    if (threadIdx.x == 0) {
        float step = most > least ? (most - least) / (float)UINT8_MAX : 1;
        *range.scale = step;
        *range.zero_point = quantize_quotient<uint8_t>(-least / step, 0);
    }
}

extern "C" int
cuda_find_scale(const CudaRange *range, cudaStream_t stream)
{
    cudaError_t error =
        cuda_launch(range_parts_kernel, dim3(CUDA_RANGE_PARTS), dim3(INDEX_THREADS), 0, stream, *range);
    return (int)(error != cudaSuccess
                     ? error
                     : cuda_launch(scale_kernel, dim3(1), dim3(CUDA_RANGE_PARTS), 0, stream, *range));
}
