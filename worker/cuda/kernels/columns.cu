/* A thread takes a pixel, and asks of each element of a block in which block it lies there. */
#include "worker/cuda/kernels/columns.h"

#include "worker/cuda/kernels/index.cuh"

struct Pixel {
    int64_t at[CUDA_WINDOW_RANK_MAX];
};

__device__ __forceinline__ Pixel
pixel_of(const CudaWindow &window, int64_t index)
{
    Pixel pixel;
#pragma unroll
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t outer = index_quotient(index, window.input_size[dimension]);
        pixel.at[dimension] = index - outer * window.input_size[dimension];
        index = outer;
    }
    return pixel;
}

/* Returns the block whose element `element` lies at the pixel, or -1. */
__device__ __forceinline__ int64_t
block_at(const CudaWindow &window, const Pixel &pixel, int64_t element)
{
    int64_t block = 0;
    int64_t step = 1;
    bool is_there = true;
#pragma unroll
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t outer = index_quotient(element, window.size[dimension]);
        int64_t within = (element - outer * window.size[dimension]) * window.dilation[dimension];
        int64_t begin = pixel.at[dimension] + window.before[dimension] - within;
        int64_t place = begin < 0 ? 0 : index_quotient(begin, window.stride[dimension]);
        is_there = is_there && begin >= 0 && place * window.stride[dimension] == begin &&
                   place < window.output_size[dimension];
        block += place * step;
        step *= window.output_size[dimension];
        element = outer;
    }
    return is_there ? block : -1;
}

template <typename T>
__global__ void
columns_kernel(const CudaColumns columns)
{
    for (int64_t i = index_first(); i < columns.count; i += index_step()) {
        int64_t plane = index_quotient(i, columns.pixels);
        Pixel pixel = pixel_of(columns.window, i - plane * columns.pixels);
        const T *from = (const T *)columns.input + plane * columns.elements * columns.blocks;
        double sum = 0;
        for (int64_t element = 0; element < columns.elements; element++) {
            int64_t block = block_at(columns.window, pixel, element);
            if (block >= 0) {
                sum += (double)load(from, element * columns.blocks + block);
            }
        }
        store((T *)columns.output, i, (Accumulator<T>)sum);
    }
}

template <typename T>
static cudaError_t
put_together(const CudaColumns *columns, cudaStream_t stream)
{
    return cuda_launch(
        columns_kernel<T>, index_grid(columns->count), dim3(INDEX_THREADS), 0, stream, *columns);
}

extern "C" int
cuda_columns_to_image(CudaType type, const CudaColumns *columns, cudaStream_t stream)
{
    if (columns->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_FLOATING_TYPE(type, put_together<T>(columns, stream));
}
