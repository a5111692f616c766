#include "worker/cuda/kernels/move.h"

#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/turn.h"

template <typename T>
__global__ void
move_kernel(CudaMove move)
{
    for (int64_t i = index_first(); i < move.count; i += index_step()) {
        int64_t at[CUDA_MOVE_SIDES] = {0, 0};
        index_offsets<CUDA_MOVE_SIDES>(i, move.rank, move.sizes, move.strides, at);
        ((T *)move.to)[at[1]] = ((const T *)move.from)[at[0]];
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
    return (int)(cuda_launch(move_kernel<T>, index_grid(move->count), dim3(INDEX_THREADS), 0, stream, *move));
}

template <typename T>
static int
fill_elements(const void *element, void *to, int64_t count, cudaStream_t stream)
{
    T value = *(const T *)element;
    return (int)(cuda_launch(
        fill_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream, value, (T *)to, count));
}

extern "C" int
cuda_move(size_t element_size, const CudaMove *move, cudaStream_t stream)
{
    bool is_whole = move->rank == 1 && move->strides[0][0] == 1 && move->strides[1][0] == 1;
    if (is_whole) {
        size_t size = (size_t)move->count * element_size;
        return (int)(cudaMemcpyAsync(move->to, move->from, size, cudaMemcpyDeviceToDevice, stream));
    }
    CudaTurn turn;
    if (cuda_turn_read(move, &turn)) {
        return cuda_turn(element_size, &turn, stream);
    }
    EACH_ELEMENT_SIZE(element_size, move_elements<T>(move, stream));
}

extern "C" int
cuda_fill(size_t element_size, const void *element, void *to, int64_t count, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, fill_elements<T>(element, to, count, stream));
}
