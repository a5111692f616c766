#include "worker/cuda/kernels/stitch.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"

/* Numbers that are not negative, which are only ever raised: no order of the threads shows. */
__device__ __forceinline__ void
raise(int64_t *number, int64_t value)
{
    atomicMax((unsigned long long *)number, (unsigned long long)value);
}

__global__ void
stitch_size_kernel(CudaStitch stitch, int64_t *size, CudaBlame blame)
{
    for (int64_t n = index_first(); n < stitch.count; n += index_step()) {
        int64_t index = stitch.indices[n];
        if (index < 0) {
            refuse(blame, n, index, 0);
        } else {
            raise(size, index + 1);
        }
    }
}

__global__ void
stitch_winners_kernel(CudaStitch stitch, int64_t *winners)
{
    for (int64_t n = index_first(); n < stitch.count; n += index_step()) {
        raise(&winners[stitch.indices[n]], stitch.first + n + 1);
    }
}

template <typename T>
__global__ void
stitch_rows_kernel(CudaStitch stitch, const int64_t *winners, T *to)
{
    const T *from = (const T *)stitch.from;
    for (int64_t i = index_first(); i < stitch.count * stitch.inner; i += index_step()) {
        int64_t n = index_quotient(i, stitch.inner);
        int64_t row = stitch.indices[n];
        if (winners[row] == stitch.first + n + 1) {
            to[row * stitch.inner + (i - n * stitch.inner)] = from[i];
        }
    }
}

template <typename T>
static cudaError_t
stitch_rows(const CudaStitch *stitch, const int64_t *winners, void *to, cudaStream_t stream)
{
    return cuda_launch(stitch_rows_kernel<T>, index_grid(stitch->count * stitch->inner), dim3(INDEX_THREADS),
        0, stream, *stitch, winners, (T *)to);
}

extern "C" int
cuda_stitch_size(const CudaStitch *stitch, int64_t *ret_size, const CudaBlame *blame, cudaStream_t stream)
{
    return (int)(stitch->count == 0 ? cudaSuccess
                                    : cuda_launch(stitch_size_kernel, index_grid(stitch->count),
                                          dim3(INDEX_THREADS), 0, stream, *stitch, ret_size, *blame));
}

extern "C" int
cuda_stitch_winners(const CudaStitch *stitch, int64_t *winners, cudaStream_t stream)
{
    return (int)(stitch->count == 0 ? cudaSuccess
                                    : cuda_launch(stitch_winners_kernel, index_grid(stitch->count),
                                          dim3(INDEX_THREADS), 0, stream, *stitch, winners));
}

extern "C" int
cuda_stitch_rows(
    size_t element_size, const CudaStitch *stitch, const int64_t *winners, void *to, cudaStream_t stream)
{
    if (stitch->count * stitch->inner == 0) {
        return (int)cudaSuccess;
    }
    EACH_ELEMENT_SIZE(element_size, stitch_rows<T>(stitch, winners, to, stream));
}
