#include "worker/cuda/kernels/cross.h"

#include "worker/cuda/kernels/index.cuh"

/* The type in which elements are multiplied. */
template <typename T, bool IS_FLOATING = is_floating<T>()> struct FactorOf {
    using Type = Accumulator<T>;
};
template <typename T> struct FactorOf<T, false> {
    using Type = uint64_t;
};

template <typename T>
__global__ void
cross_kernel(CudaCross cross)
{
    using C = typename FactorOf<T>::Type;
    const T *left = (const T *)cross.left;
    const T *right = (const T *)cross.right;
    for (int64_t n = index_first(); n < cross.count; n += index_step()) {
        int64_t vector = index_quotient(n, 3) * 3;
        int64_t next = vector + (n - vector + 1) % 3;
        int64_t last = vector + (n - vector + 2) % 3;
        C product = (C)load(left, next) * (C)load(right, last) - (C)load(left, last) * (C)load(right, next);
        store((T *)cross.product, n, product);
    }
}

template <typename T>
static cudaError_t
multiply(const CudaCross *cross, cudaStream_t stream)
{
    return cuda_launch(cross_kernel<T>, index_grid(cross->count), dim3(INDEX_THREADS), 0, stream, *cross);
}

extern "C" int
cuda_cross(CudaType type, const CudaCross *cross, cudaStream_t stream)
{
    if (cross->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_REAL_TYPE(type, multiply<T>(cross, stream));
}
