/* A block sorts a line by Batcher's bitonic network, whose exchanges its size alone decides; or one thread of
 * it keeps a heap, and all look for what comes into it. */
#include "worker/cuda/kernels/order.h"

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/keys.cuh"

enum { SORT_THREADS = 256 };

__device__ __forceinline__ bool
comes_before(const CudaPlace &left, const CudaPlace &right)
{
    return left.key < right.key || (left.key == right.key && left.index < right.index);
}

/* All threads of the block take part. */
__device__ __forceinline__ void
sort_places(CudaPlace *places, int64_t room)
{
    for (int64_t size = 2; size <= room; size *= 2) {
        for (int64_t apart = size / 2; apart > 0; apart /= 2) {
            __syncthreads();
            for (int64_t n = threadIdx.x; n < room / 2; n += SORT_THREADS) {
                int64_t low = 2 * n - (n & (apart - 1));
                CudaPlace left = places[low];
                CudaPlace right = places[low + apart];
                bool is_ascending = (low & size) == 0;
                if (comes_before(right, left) == is_ascending) {
                    places[low] = right;
                    places[low + apart] = left;
                }
            }
        }
    }
    __syncthreads();
}

template <typename T>
__device__ __forceinline__ CudaPlace
place_of(const CudaSort &sort, const T *input, int64_t n)
{
    uint64_t key = ascending_key(input, n * sort.inner);
    return {sort.is_largest_first ? ~key : key, n};
}

template <typename T>
__device__ __forceinline__ const T *
input_of(const CudaSort &sort, int64_t line)
{
    int64_t outer = index_quotient(line, sort.inner);
    return (const T *)sort.input + outer * sort.size * sort.inner + (line - outer * sort.inner);
}

/* Writes the elements of `count` places; all threads of the block take part. */
template <typename T>
__device__ __forceinline__ void
write_line(const CudaSort &sort, const CudaPlace *places, int64_t line, const T *input)
{
    int64_t outer = index_quotient(line, sort.inner);
    int64_t target = outer * sort.count * sort.inner + (line - outer * sort.inner);
    for (int64_t n = threadIdx.x; n < sort.count; n += SORT_THREADS) {
        int64_t index = places[n].index;
        int64_t at = target + n * sort.inner;
        ((T *)sort.values)[at] = input[index * sort.inner];
        if (sort.indices != nullptr && sort.is_wide) {
            ((int64_t *)sort.indices)[at] = index;
        } else if (sort.indices != nullptr) {
            ((int32_t *)sort.indices)[at] = (int32_t)index;
        }
    }
    __syncthreads(); /* the next line writes `places` again */
}

/* What fills up the room comes behind all elements. */
template <typename T>
__global__ void
sort_kernel(CudaSort sort, int64_t room)
{
    CudaPlace *places = sort.places + blockIdx.x * room;
    for (int64_t line = blockIdx.x; line < sort.outer * sort.inner; line += gridDim.x) {
        const T *input = input_of<T>(sort, line);
        for (int64_t n = threadIdx.x; n < room; n += SORT_THREADS) {
            places[n] = n < sort.size ? place_of(sort, input, n) : CudaPlace{UINT64_MAX, n};
        }
        sort_places(places, room);
        write_line(sort, places + sort.first, line, input);
    }
}

/* Moves the hole down to a leaf, always to the child that comes later, and then moves the place up from
 * there: the reference kernel's steps (shared/ops/order), which decide what stands where. */
__device__ __forceinline__ void
heap_sink(CudaPlace *heap, int64_t count, int64_t hole, CudaPlace place)
{
    int64_t top = hole;
    for (int64_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
        if (child + 1 < count && !comes_before(heap[child + 1], heap[child])) {
            child++;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    for (int64_t parent = (hole - 1) / 2; hole > top && comes_before(heap[parent], place);
         parent = (hole - 1) / 2) {
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = place;
}

/* Begins with one place more than stay, of which the last in order goes. */
__device__ __forceinline__ void
heap_begin(CudaPlace *heap, int64_t count)
{
    for (int64_t parent = (count + 1) / 2; parent-- > 0;) {
        heap_sink(heap, count + 1, parent, heap[parent]);
    }
    heap_sink(heap, count, 0, heap[count]);
}

/* Gives the heap the elements of the line from `n` on, in their order; all threads of the block take part. */
template <typename T>
__device__ __forceinline__ void
heap_take(const CudaSort &sort, const T *input, int64_t n, CudaPlace *heap)
{
    while (n < sort.size) {
        int64_t at = n + threadIdx.x;
        bool is_better = at < sort.size && comes_before(place_of(sort, input, at), heap[0]);
        int64_t found = block_join<BlockLeast, int64_t>(is_better ? at : INT64_MAX);
        if (threadIdx.x == 0 && found < sort.size) {
            heap_sink(heap, sort.count, 0, place_of(sort, input, found));
        }
        n = found < sort.size ? found + 1 : n + SORT_THREADS;
        __syncthreads();
    }
}

template <typename T>
__global__ void
heap_kernel(CudaSort sort)
{
    CudaPlace *heap = sort.places + blockIdx.x * (sort.count + 1);
    for (int64_t line = blockIdx.x; line < sort.outer * sort.inner; line += gridDim.x) {
        const T *input = input_of<T>(sort, line);
        for (int64_t n = threadIdx.x; n <= sort.count; n += SORT_THREADS) {
            heap[n] = place_of(sort, input, n);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            heap_begin(heap, sort.count);
        }
        __syncthreads();
        heap_take(sort, input, sort.count + 1, heap);
        write_line(sort, heap, line, input);
    }
}

template <typename T>
static cudaError_t
sort_lines(const CudaSort *sort, cudaStream_t stream)
{
    dim3 grid((unsigned)sort->abreast);
    if (sort->outer * sort->inner * sort->count == 0) {
        return cudaSuccess;
    }
    return cuda_sort_is_heap(sort) ? cuda_launch(heap_kernel<T>, grid, dim3(SORT_THREADS), 0, stream, *sort)
                                   : cuda_launch(sort_kernel<T>, grid, dim3(SORT_THREADS), 0, stream, *sort,
                                         cuda_sort_room(sort->size));
}

extern "C" int
cuda_sort(CudaType type, const CudaSort *sort, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, sort_lines<T>(sort, stream));
}
