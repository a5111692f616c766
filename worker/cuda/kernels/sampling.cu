/* A thread takes an element. It finds each neighbour anew, so that it holds no table of them. */
#include "worker/cuda/kernels/sampling.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

/* Reflects a coordinate at both borders until it is between them. */
__device__ __forceinline__ double
reflect(double x, double least, double most)
{
    double range = most - least;
    if (range <= 0) {
        return least;
    }
    if (x >= least && x <= most) {
        return x;
    }
    bool is_below = x < least;
    double beyond = is_below ? least - x : x - most;
    double turns = floor(beyond / range);
    double rest = beyond - turns * range;
    bool is_even = turns - 2 * floor(turns / 2) == 0;
    return is_even == is_below ? least + rest : most - rest;
}

__device__ __forceinline__ double
within(double x, double least, double most)
{
    return !(x > least) ? least : x > most ? most : x;
}

/* Moves a position along one dimension into the image, as the padding has it. */
__device__ __forceinline__ double
pad_position(const CudaSampling &sampling, double x, int dimension)
{
    double size = (double)sampling.size[dimension];
    double least = sampling.aligns_corners ? 0 : -0.5;
    double most = sampling.aligns_corners ? size - 1 : size - 0.5;
    if (sampling.padding == CUDA_SAMPLE_REFLECTION) {
        return reflect(x, least, most);
    }
    bool is_moved = sampling.padding == CUDA_SAMPLE_BORDER && (x < least || x > most);
    return is_moved ? within(x, 0, size - 1) : x;
}

/* Returns the element at a whole position along one dimension; -1: there is none, it counts as 0. */
__device__ __forceinline__ int64_t
element_at(const CudaSampling &sampling, double x, int dimension)
{
    double last = (double)sampling.size[dimension] - 1;
    double moved = pad_position(sampling, x, dimension);
    moved = sampling.padding == CUDA_SAMPLE_REFLECTION ? trunc(moved) : moved;
    moved = sampling.padding == CUDA_SAMPLE_ZEROS ? moved : within(moved, 0, last);
    return moved >= 0 && moved <= last ? (int64_t)moved : -1;
}

/* Returns the weight of Keys' cubic convolution with a = -0.75, of a neighbour that is `x` away. */
__device__ __forceinline__ double
near_weight(double x)
{
    return (1.25 * x - 2.25) * x * x + 1;
}

__device__ __forceinline__ double
far_weight(double x)
{
    return ((-0.75 * x + 3.75) * x - 6) * x + 3;
}

__device__ __forceinline__ double
weight_of(CudaSampleMode mode, int tap, double part)
{
    if (mode == CUDA_SAMPLE_LINEAR) {
        return tap == 0 ? 1 - part : part;
    }
    double away = tap < 2 ? part : 1 - part;
    return tap == 0 || tap == 3 ? far_weight(away + 1) : near_weight(away);
}

struct SampleTap {
    int64_t element;
    double weight;
};

/* Returns neighbour `tap` along one dimension of a coordinate. */
__device__ __forceinline__ SampleTap
tap_of(const CudaSampling &sampling, double given, int dimension, int tap)
{
    double size = (double)sampling.size[dimension];
    double placed = sampling.aligns_corners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2;
    double x = (double)(float)placed;
    if (sampling.mode == CUDA_SAMPLE_NEAREST) {
        return {element_at(sampling, nearbyint(x), dimension), 1};
    }
    x = pad_position(sampling, x, dimension);
    double first = floor(x);
    double before = sampling.mode == CUDA_SAMPLE_CUBIC ? 1 : 0;
    return {element_at(sampling, first - before + tap, dimension), weight_of(sampling.mode, tap, x - first)};
}

/* Returns the sum of all neighbours of a position, weighed. */
template <typename T>
__device__ __forceinline__ double
sample_position(const CudaSampling &sampling, const T *plane, const double *coordinates)
{
    int mode = (int)sampling.mode;
    int total = 1;
    double sum = 0;
    for (int dimension = 0; dimension < sampling.space; dimension++) {
        total *= mode;
    }
    for (int number = 0; number < total; number++) {
        int rest = number;
        int64_t offset = 0;
        double weight = 1;
#pragma unroll
        for (int dimension = CUDA_SAMPLE_SPACE_MAX - 1; dimension >= 0; dimension--) {
            if (dimension >= sampling.space) {
                continue;
            }
            SampleTap tap =
                tap_of(sampling, coordinates[sampling.space - 1 - dimension], dimension, rest % mode);
            rest /= mode;
            weight = tap.element < 0 ? 0 : weight * tap.weight;
            offset += tap.element < 0 ? 0 : tap.element * sampling.stride[dimension];
        }
        sum += weight != 0 ? (double)load(plane, offset) * weight : 0;
    }
    return sum;
}

template <typename T>
__global__ void
sample_kernel(const CudaSampling sampling)
{
    for (int64_t i = index_first(); i < sampling.count; i += index_step()) {
        int64_t number = index_quotient(i, sampling.positions);
        int64_t position = i - number * sampling.positions;
        int64_t batch = index_quotient(number, sampling.channels);
        const double *coordinates = sampling.grid + (batch * sampling.positions + position) * sampling.space;
        double value =
            sample_position(sampling, (const T *)sampling.input + number * sampling.plane, coordinates);
        store((T *)sampling.output, i, (Accumulator<T>)value);
    }
}

template <typename T>
static cudaError_t
sample(const CudaSampling *sampling, cudaStream_t stream)
{
    return sampling->count == 0 ? cudaSuccess
                                : cuda_launch(sample_kernel<T>, index_grid(sampling->count),
                                      dim3(INDEX_THREADS), 0, stream, *sampling);
}

extern "C" int
cuda_sample(CudaType type, const CudaSampling *sampling, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, sample<T>(sampling, stream));
}
