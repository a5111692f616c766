/* A block sorts a line by Batcher's bitonic network, whose exchanges its size alone decides. */
#include "worker/cuda/kernels/order.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

enum { SORT_THREADS = 256 };

__device__ __forceinline__ uint64_t
bits_of(double value)
{
    uint64_t bits = 0;
    static_assert(sizeof bits == sizeof value, "the bits of a number");
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns numbers in the order of the elements. */
template <typename T>
__device__ __forceinline__ uint64_t
ascending_key(const T *input, int64_t at)
{
    constexpr uint64_t sign = (uint64_t)1 << 63;
    if constexpr (is_floating<T>()) {
        double value = (double)load(input, at);
        uint64_t bits = value == 0 ? 0 : bits_of(value);
        return value != value ? UINT64_MAX : (bits & sign) != 0 ? ~bits : bits | sign;
    } else {
        constexpr bool is_signed = (T)-1 < (T)1;
        return is_signed ? (uint64_t)(int64_t)input[at] ^ sign : (uint64_t)input[at];
    }
}

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

/* What fills up the room comes behind all elements. */
template <typename T>
__global__ void
sort_kernel(CudaSort sort, int64_t room)
{
    CudaPlace *places = sort.places + blockIdx.x * room;
    for (int64_t line = blockIdx.x; line < sort.outer * sort.inner; line += gridDim.x) {
        int64_t outer = index_quotient(line, sort.inner);
        int64_t inner = line - outer * sort.inner;
        const T *input = (const T *)sort.input + outer * sort.size * sort.inner + inner;
        for (int64_t n = threadIdx.x; n < room; n += SORT_THREADS) {
            uint64_t key = n < sort.size ? ascending_key(input, n * sort.inner) : UINT64_MAX;
            places[n] = {sort.is_largest_first && n < sort.size ? ~key : key, n};
        }
        sort_places(places, room);
        int64_t target = outer * sort.count * sort.inner + inner;
        for (int64_t n = threadIdx.x; n < sort.count; n += SORT_THREADS) {
            int64_t index = places[sort.first + n].index;
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
}

template <typename T>
static cudaError_t
sort_lines(const CudaSort *sort, cudaStream_t stream)
{
    return sort->outer * sort->inner * sort->count == 0
               ? cudaSuccess
               : cuda_launch(sort_kernel<T>, dim3((unsigned)sort->abreast), dim3(SORT_THREADS), 0, stream,
                     *sort, cuda_sort_room(sort->size));
}

extern "C" int
cuda_sort(CudaType type, const CudaSort *sort, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, sort_lines<T>(sort, stream));
}
