#include "worker/cuda/kernels/movement.h"

#include "worker/cuda/kernels/index.cuh"

struct Element16 {
    uint64_t low;
    uint64_t high;
};

template <typename T>
__global__ void
move_kernel(CudaMove move)
{
    for (int64_t i = index_first(); i < move.count; i += index_step()) {
        int64_t at[CUDA_MOVE_SIDES] = {0, 0};
        index_offsets<CUDA_MOVE_SIDES>(i, move.rank, move.sizes, move.strides, at);
        static_cast<T *>(move.to)[at[1]] = static_cast<const T *>(move.from)[at[0]];
    }
}

template <typename T>
__global__ void
fill_kernel(T element, T *to, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        to[i] = element;
    }
}

template <typename T>
static int
move_elements(const CudaMove *move, cudaStream_t stream)
{
    return static_cast<int>(
        cuda_launch(move_kernel<T>, index_grid(move->count), dim3(INDEX_THREADS), 0, stream, *move));
}

template <typename T>
static int
fill_elements(const void *element, void *to, int64_t count, cudaStream_t stream)
{
    T value = *static_cast<const T *>(element);
    return static_cast<int>(cuda_launch(fill_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
        value, static_cast<T *>(to), count));
}

#define SIZE_SWITCH(size, function, ...)                                                                     \
    switch (size) {                                                                                          \
    case sizeof(uint8_t):                                                                                    \
        return function<uint8_t>(__VA_ARGS__);                                                               \
    case sizeof(uint16_t):                                                                                   \
        return function<uint16_t>(__VA_ARGS__);                                                              \
    case sizeof(uint32_t):                                                                                   \
        return function<uint32_t>(__VA_ARGS__);                                                              \
    case sizeof(uint64_t):                                                                                   \
        return function<uint64_t>(__VA_ARGS__);                                                              \
    case sizeof(Element16):                                                                                  \
        return function<Element16>(__VA_ARGS__);                                                             \
    default:                                                                                                 \
        return static_cast<int>(cudaErrorInvalidValue);                                                      \
    }

extern "C" int
cuda_move(size_t element_size, const CudaMove *move, cudaStream_t stream)
{
    bool is_whole = move->rank == 1 && move->strides[0][0] == 1 && move->strides[1][0] == 1;
    if (is_whole) {
        size_t size = static_cast<size_t>(move->count) * element_size;
        return static_cast<int>(
            cudaMemcpyAsync(move->to, move->from, size, cudaMemcpyDeviceToDevice, stream));
    }
    SIZE_SWITCH(element_size, move_elements, move, stream)
}

extern "C" int
cuda_fill(size_t element_size, const void *element, void *to, int64_t count, cudaStream_t stream)
{
    SIZE_SWITCH(element_size, fill_elements, element, to, count, stream)
}
