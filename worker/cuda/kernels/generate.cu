#include "worker/cuda/kernels/generate.h"

#include <cmath>

#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

/* An index outside of the depth gives a line without `on`. */
template <typename T>
__global__ void
one_hot_kernel(CudaOneHot one_hot)
{
    for (int64_t i = index_first(); i < one_hot.count; i += index_step()) {
        int64_t row = index_quotient(i, one_hot.inner);
        int64_t outer = index_quotient(row, one_hot.depth);
        int64_t index = 0;
        bool is_read = load_integer(
            one_hot.type, one_hot.indices, outer * one_hot.inner + (i - row * one_hot.inner), &index);
        index += one_hot.count_from_end && index < 0 ? one_hot.depth : 0;
        bool is_on = is_read && index == row - outer * one_hot.depth;
        ((T *)one_hot.output)[i] = *(const T *)(is_on ? one_hot.on : one_hot.off);
    }
}

template <typename T>
static cudaError_t
make_one_hot(const CudaOneHot *one_hot, cudaStream_t stream)
{
    return one_hot->count == 0 ? cudaSuccess
                               : cuda_launch(one_hot_kernel<T>, index_grid(one_hot->count),
                                     dim3(INDEX_THREADS), 0, stream, *one_hot);
}

extern "C" int
cuda_one_hot(size_t element_size, const CudaOneHot *one_hot, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, make_one_hot<T>(one_hot, stream));
}

template <typename T, typename C>
__global__ void
range_kernel(C start, C delta, T *output, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        store(output, i, start + (C)i * delta);
    }
}

template <typename T, typename C>
static cudaError_t
make_range(const void *start, const void *delta, void *output, int64_t count, cudaStream_t stream)
{
    C first = (C)(*(const T *)start);
    C step = (C)(*(const T *)delta);
    return count == 0 ? cudaSuccess
                      : cuda_launch(range_kernel<T, C>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                            first, step, (T *)output, count);
}

__global__ void
window_kernel(CudaCosines window)
{
    for (int64_t n = index_first(); n < window.count; n += index_step()) {
        double angle = window.length > 0 ? 6.283185307179586 * (double)n / window.length : 0;
        window.output[n] =
            window.weights[0] + window.weights[1] * cos(angle) + window.weights[2] * cos(2 * angle);
    }
}

extern "C" int
cuda_range(
    CudaType type, const void *start, const void *delta, void *output, int64_t count, cudaStream_t stream)
{
    TYPE_SWITCH(type, WIDE_CASES((make_range<T, double>(start, delta, output, count, stream)))
                          SIGNED_CASES((make_range<T, uint64_t>(start, delta, output, count, stream)))
                              UNSIGNED_CASES((make_range<T, uint64_t>(start, delta, output, count, stream))))
}

extern "C" int
cuda_cosines(const CudaCosines *window, cudaStream_t stream)
{
    return (int)(window->count == 0 ? cudaSuccess
                                    : cuda_launch(window_kernel, index_grid(window->count),
                                          dim3(INDEX_THREADS), 0, stream, *window));
}

__global__ void
triangles_kernel(CudaTriangles triangles)
{
    for (int64_t i = index_first(); i < triangles.rows * triangles.count; i += index_step()) {
        int64_t row = index_quotient(i, triangles.count);
        int64_t column = i - row * triangles.count;
        int64_t low = triangles.corners[column];
        int64_t top = triangles.corners[column + 1];
        int64_t high = triangles.corners[column + 2];
        double weight = row == top ? 1 : 0;
        if (row >= low && row < top) {
            weight = (double)(row - low) / (double)(top - low);
        } else if (row > top && row < high) {
            weight = (double)(high - row) / (double)(high - top);
        }
        triangles.output[row * triangles.step + column] = weight;
    }
}

extern "C" int
cuda_triangles(const CudaTriangles *triangles, cudaStream_t stream)
{
    int64_t count = triangles->rows * triangles->count;
    return (int)(count == 0 ? cudaSuccess
                            : cuda_launch(triangles_kernel, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                                  *triangles));
}

template <typename T>
__global__ void
space_kernel(double first, double last, T *output, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        double part = count == 1 ? 0 : (double)i / (double)(count - 1);
        double value = i > 0 && i == count - 1 ? last : first + (last - first) * part;
        store(output, i, (Accumulator<T>)value);
    }
}

template <typename T>
static cudaError_t
make_space(const void *first, const void *last, void *output, int64_t count, cudaStream_t stream)
{
    double from = (double)(Accumulator<T>)(*(const T *)first);
    double to = (double)(Accumulator<T>)(*(const T *)last);
    return count == 0 ? cudaSuccess
                      : cuda_launch(space_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream, from,
                            to, (T *)output, count);
}

extern "C" int
cuda_space(
    CudaType type, const void *first, const void *last, void *output, int64_t count, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, make_space<T>(first, last, output, count, stream));
}
