/* A block takes a group. */
#include "worker/cuda/kernels/norm.h"

#include <cmath>

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

enum { NORM_THREADS = 256 };
static constexpr int64_t NORM_BLOCKS_MAX = 1 << 20;

__device__ __forceinline__ int64_t
place_along(const CudaDimensions &dimensions, int64_t index, int64_t base)
{
    int64_t at[1] = {base};
    index_offsets<1>(index, dimensions.rank, dimensions.sizes, dimensions.strides, at);
    return at[0];
}

__device__ __forceinline__ bool
has_mean(CudaNormKind kind)
{
    return kind == CUDA_NORM_VARIANCE || kind == CUDA_NORM_STANDARD_DEVIATION;
}

/* Returns what the elements of a group, less their mean, are multiplied by. */
template <typename C>
__device__ __forceinline__ C
factor_of(const CudaNorm &norm, C sum)
{
    C count = (C)norm.count;
    C epsilon = (C)norm.epsilon;
    switch (norm.kind) {
    case CUDA_NORM_SUM:
        return sum == 0 ? (C)0 : 1 / sum;
    case CUDA_NORM_LENGTH:
        return sum == 0 ? (C)0 : 1 / sqrt(sum);
    case CUDA_NORM_STANDARD_DEVIATION:
        return 1 / (sqrt(sum / count) + epsilon);
    default:
        return 1 / sqrt(sum / count + epsilon);
    }
}

template <typename T, typename C>
__device__ __forceinline__ C
mean_of(const CudaNorm &norm, int64_t base)
{
    C sum = 0;
    for (int64_t i = threadIdx.x; i < norm.count; i += blockDim.x) {
        sum += load((const T *)norm.input, place_along(norm.folded, i, base));
    }
    return block_join<BlockSum<C>>(sum) / (C)norm.count;
}

/* Sums the magnitudes, or the squares of the distances from the mean. */
template <typename T, typename C>
__device__ __forceinline__ C
sum_group(const CudaNorm &norm, int64_t base, C mean)
{
    C sum = 0;
    for (int64_t i = threadIdx.x; i < norm.count; i += blockDim.x) {
        C value = load((const T *)norm.input, place_along(norm.folded, i, base)) - mean;
        sum += norm.kind == CUDA_NORM_SUM ? (C)fabs(value) : value * value;
    }
    return block_join<BlockSum<C>>(sum);
}

/* Returns where the scale and the bias of element `i` of a group, which stands at `at`, lie. */
__device__ __forceinline__ int64_t
scale_place(const CudaNorm &norm, int64_t i, int64_t at)
{
    int64_t place[1] = {0};
    if (norm.is_scaled_along) {
        return i;
    }
    index_offsets<1>(at, norm.rank, norm.sizes, norm.strides, place);
    return place[0];
}

template <typename T, typename C>
__global__ void
norm_kernel(const CudaNorm norm)
{
    const T *scale = (const T *)norm.scale;
    const T *bias = (const T *)norm.bias;
    for (int64_t group = blockIdx.x; group < norm.groups; group += gridDim.x) {
        int64_t base = place_along(norm.kept, group, 0);
        C mean = has_mean(norm.kind) ? mean_of<T, C>(norm, base) : (C)0;
        C factor = factor_of<C>(norm, sum_group<T, C>(norm, base, mean));
        for (int64_t i = threadIdx.x; i < norm.count; i += blockDim.x) {
            int64_t at = place_along(norm.folded, i, base);
            C value = (load((const T *)norm.input, at) - mean) * factor;
            if (scale != nullptr) {
                int64_t place = scale_place(norm, i, at);
                value = value * load(scale, place) + (bias == nullptr ? (C)0 : load(bias, place));
            }
            store((T *)norm.output, at, value);
        }
    }
}

template <typename T>
static cudaError_t
normalize(const CudaNorm *norm, cudaStream_t stream)
{
    if (norm->groups == 0 || norm->count == 0) {
        return cudaSuccess;
    }
    dim3 grid((unsigned)(norm->groups < NORM_BLOCKS_MAX ? norm->groups : NORM_BLOCKS_MAX));
    return cuda_launch(norm_kernel<T, Accumulator<T>>, grid, dim3(NORM_THREADS), 0, stream, *norm);
}

extern "C" int
cuda_norm(CudaType type, const CudaNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, normalize<T>(norm, stream));
}
