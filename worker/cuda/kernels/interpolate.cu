#include "worker/cuda/kernels/interpolate.h"

#include <cmath>

#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"

/* Returns where an element of the output lies in the input (resize_position(), shared/ops/resize/rule.h). */
__device__ double
position_of(const CudaNeighbours &side, int64_t index)
{
    double x = (double)index;
    double last = (double)side.input - 1;
    double length = side.scale * (double)side.input;
    switch (side.place) {
    case CUDA_ALIGN_CORNERS:
        return length == 1 ? 0 : x * last / (length - 1);
    case CUDA_ASYMMETRIC:
        return x / side.scale;
    case CUDA_HALF_PIXEL_FOR_NEAREST:
        return (x + 0.5) / side.scale;
    case CUDA_PYTORCH_HALF_PIXEL:
        return length == 1 ? -0.5 : (x + 0.5) / side.scale - 0.5;
    case CUDA_HALF_PIXEL_SYMMETRIC:
        return (double)side.input / 2 * (1 - (double)side.output / length) + (x + 0.5) / side.scale - 0.5;
    case CUDA_RESIZE_CROP: {
        double part = side.crop_end - side.crop_start;
        double inside = length == 1 ? part * last / 2 : x * part * last / (length - 1);
        return inside + side.crop_start * last;
    }
    case CUDA_HALF_PIXEL:
        break;
    }
    return (x + 0.5) / side.scale - 0.5;
}

/* Returns the weight of the neighbour on the right, 0 or 1, for a position that is `ratio` behind the one on
 * the left. */
__device__ __forceinline__ double
nearest_weight(CudaResizeNearest nearest, double ratio)
{
    if (ratio == 1 || nearest == CUDA_CEIL) {
        return 1;
    }
    if (nearest == CUDA_FLOOR) {
        return 0;
    }
    return ratio > 0.5 || (ratio == 0.5 && nearest == CUDA_PREFER_CEIL) ? 1 : 0;
}

/* Keys' cubic convolution. */
__device__ __forceinline__ double
cubic_weight(double a, double distance)
{
    double x = fabs(distance);
    if (x <= 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Returns the weight of neighbour n of a position that is `ratio` behind the one on the left. */
__device__ __forceinline__ double
weight_of(const CudaNeighbours &side, int64_t n, double ratio)
{
    if (side.mode == CUDA_RESIZE_NEAREST) {
        double right = nearest_weight(side.nearest, ratio);
        return n == 0 ? 1 - right : right;
    }
    double scaled = ((double)(side.reach + n) - ratio) * side.filter_scale;
    if (side.mode == CUDA_RESIZE_CUBIC) {
        return cubic_weight(side.cubic, scaled);
    }
    return fabs(scaled) < 1 ? 1 - fabs(scaled) : 0;
}

/* A position on an element has that as its neighbour on the right. */
__device__ __forceinline__ void
weigh_element(const CudaNeighbours &side, int64_t index)
{
    double position = position_of(side, index);
    double last = (double)side.input - 1;
    double within = position < -1 ? -1 : position > (double)side.input ? (double)side.input : position;
    double left = ceil(within) - 1;
    int64_t first = (int64_t)left + side.reach;
    double *weights = side.weights + index * side.count;
    double sum = 0;
    for (int64_t n = 0; n < side.count; n++) {
        bool is_outside = first + n < 0 || first + n >= side.input;
        weights[n] = side.excludes_outside && is_outside ? 0 : weight_of(side, n, within - left);
        sum += weights[n];
    }
    for (int64_t n = 0; side.is_normalized && n < side.count; n++) {
        weights[n] /= sum;
    }
    bool is_cropped = side.place == CUDA_RESIZE_CROP && (position < 0 || position > last);
    side.firsts[index] = is_cropped ? CUDA_NEIGHBOURS_OUTSIDE : first;
}

__global__ void
weigh_kernel(const CudaNeighbours side)
{
    for (int64_t index = index_first(); index < side.output; index += index_step()) {
        weigh_element(side, index);
    }
}

/* An element of the output: its place along the dimension, and where its line begins in the input. */
struct LinePlace {
    int64_t index;
    int64_t line;
};

__device__ __forceinline__ LinePlace
line_place(const CudaInterpolation &lines, int64_t element)
{
    int64_t row = index_quotient(element, lines.inner);
    int64_t outer = index_quotient(row, lines.neighbours.output);
    return {row - outer * lines.neighbours.output,
        outer * lines.neighbours.input * lines.inner + element - row * lines.inner};
}

__device__ __forceinline__ int64_t
limit_index(int64_t index, int64_t size)
{
    return index < 0 ? 0 : index >= size ? size - 1 : index;
}

/* Neighbours of no weight are not read: they may be infinite. */
template <typename T>
__global__ void
interpolate_kernel(const CudaInterpolation lines, int64_t count)
{
    const CudaNeighbours &side = lines.neighbours;
    for (int64_t element = index_first(); element < count; element += index_step()) {
        LinePlace place = line_place(lines, element);
        int64_t first = side.firsts[place.index];
        const double *weights = side.weights + place.index * side.count;
        T sum = 0;
        for (int64_t n = 0; first != CUDA_NEIGHBOURS_OUTSIDE && n < side.count; n++) {
            int64_t source = limit_index(first + n, side.input);
            if (weights[n] != 0) {
                sum += (T)weights[n] * ((const T *)lines.from)[place.line + source * lines.inner];
            }
        }
        ((T *)lines.to)[element] = first == CUDA_NEIGHBOURS_OUTSIDE ? (T)lines.outside : sum;
    }
}

template <typename T>
__global__ void
choose_kernel(const CudaInterpolation lines, int64_t count)
{
    const CudaNeighbours &side = lines.neighbours;
    for (int64_t element = index_first(); element < count; element += index_step()) {
        LinePlace place = line_place(lines, element);
        bool is_right = side.weights[place.index * side.count] == 0;
        int64_t source = limit_index(side.firsts[place.index] + (is_right ? 1 : 0), side.input);
        ((T *)lines.to)[element] = ((const T *)lines.from)[place.line + source * lines.inner];
    }
}

template <typename... P>
static cudaError_t
resize_by(void (*kernel)(P...), const CudaInterpolation *lines, cudaStream_t stream)
{
    int64_t count = lines->outer * lines->neighbours.output * lines->inner;
    return count == 0 ? cudaSuccess
                      : cuda_launch(kernel, index_grid(count), dim3(INDEX_THREADS), 0, stream, *lines, count);
}

extern "C" int
cuda_weigh_neighbours(const CudaNeighbours *neighbours, cudaStream_t stream)
{
    return neighbours->output == 0 ? (int)cudaSuccess
                                   : (int)cuda_launch(weigh_kernel, index_grid(neighbours->output),
                                         dim3(INDEX_THREADS), 0, stream, *neighbours);
}

extern "C" int
cuda_interpolate(CudaType type, const CudaInterpolation *interpolation, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, (resize_by(interpolate_kernel<T>, interpolation, stream)));
}

extern "C" int
cuda_choose_neighbours(size_t element_size, const CudaInterpolation *interpolation, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, (resize_by(choose_kernel<T>, interpolation, stream)));
}
