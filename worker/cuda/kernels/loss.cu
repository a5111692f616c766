/* A block takes a row. */
#include "worker/cuda/kernels/loss.h"

#include <cmath>

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/integers.cuh"

enum { LOSS_THREADS = 128 };
static constexpr int64_t LOSS_BLOCKS_MAX = 1 << 20; /* each takes every n-th row */

static dim3
loss_grid(int64_t rows)
{
    return dim3((unsigned)(rows < LOSS_BLOCKS_MAX ? rows : LOSS_BLOCKS_MAX));
}

/* NaN wins. */
template <typename C> struct LargestOrNan {
    static __device__ __forceinline__ C
    none()
    {
        return -(C)INFINITY;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a > b || a != a ? a : b;
    }
};

template <typename T>
__device__ __forceinline__ Accumulator<T>
score_at(const CudaScores &scores, int64_t row, int64_t column)
{
    return load((const T *)scores.data, row * scores.row_step + column * scores.column_step);
}

/* Returns the row's class whose label is 1, or -1: there are labels, or the target was refused. */
__device__ __forceinline__ int64_t
target_of(const CudaCrossEntropy &entropy, int64_t row)
{
    if (entropy.targets == nullptr) {
        return -1;
    }
    int64_t target = -1;
    bool is_read = load_integer(entropy.target_type, entropy.targets, row, &target);
    target = is_read ? target : -1;
    if (target >= 0 && target < entropy.classes) {
        return target;
    }
    if (threadIdx.x == 0) {
        refuse(entropy.blame, row, target, entropy.classes);
    }
    return -1;
}

template <typename T>
__device__ __forceinline__ Accumulator<T>
label_of(const CudaCrossEntropy &entropy, int64_t target, int64_t row, int64_t column)
{
    return entropy.targets == nullptr ? score_at<T>(entropy.labels, row, column)
                                      : (Accumulator<T>)(column == target ? 1 : 0);
}

template <typename T>
__global__ void
cross_entropy_kernel(CudaCrossEntropy entropy)
{
    using C = Accumulator<T>;
    for (int64_t row = blockIdx.x; row < entropy.rows; row += gridDim.x) {
        int64_t target = target_of(entropy, row);
        C largest = LargestOrNan<C>::none();
        for (int64_t k = threadIdx.x; k < entropy.classes; k += LOSS_THREADS) {
            largest = LargestOrNan<C>::join(largest, score_at<T>(entropy.features, row, k));
        }
        largest = block_join<LargestOrNan<C>>(largest);
        C sum = 0;
        for (int64_t k = threadIdx.x; k < entropy.classes; k += LOSS_THREADS) {
            sum += exp(score_at<T>(entropy.features, row, k) - largest);
        }
        C logarithm = log(block_join<BlockSum<C>>(sum));
        C loss = 0;
        for (int64_t k = threadIdx.x; k < entropy.classes; k += LOSS_THREADS) {
            C score = score_at<T>(entropy.features, row, k) - largest;
            C label = label_of<T>(entropy, target, row, k);
            bool counts = entropy.targets == nullptr || k == target;
            loss += counts ? label * (logarithm - score) : (C)0;
            store((T *)entropy.gradients, row * entropy.classes + k, (C)exp(score - logarithm) - label);
        }
        loss = block_join<BlockSum<C>>(loss);
        if (threadIdx.x == 0) {
            store((T *)entropy.losses, row, loss);
        }
    }
}

template <typename T>
static cudaError_t
compute_cross_entropy(const CudaCrossEntropy *entropy, cudaStream_t stream)
{
    return entropy->rows == 0 ? cudaSuccess
                              : cuda_launch(cross_entropy_kernel<T>, loss_grid(entropy->rows),
                                    dim3(LOSS_THREADS), 0, stream, *entropy);
}

extern "C" int
cuda_cross_entropy(CudaType type, const CudaCrossEntropy *entropy, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, compute_cross_entropy<T>(entropy, stream));
}

static __global__ void
in_top_kernel(CudaInTop top)
{
    for (int64_t row = blockIdx.x; row < top.rows; row += gridDim.x) {
        const float *predictions = top.predictions + row * top.classes;
        int64_t target = -1;
        bool is_class =
            load_integer(top.target_type, top.targets, row, &target) && target >= 0 && target < top.classes;
        float own = is_class ? predictions[target] : INFINITY;
        int64_t larger = 0;
        int64_t infinite = 0;
        for (int64_t n = threadIdx.x; n < top.classes; n += LOSS_THREADS) {
            larger += predictions[n] > own;
            infinite += !(fabsf(predictions[n]) < INFINITY);
        }
        larger = block_join<BlockSum<int64_t>>(larger);
        infinite = block_join<BlockSum<int64_t>>(infinite);
        if (threadIdx.x == 0) {
            top.output[row] = is_class && infinite == 0 && larger < top.k;
        }
    }
}

extern "C" int
cuda_in_top(const CudaInTop *top, cudaStream_t stream)
{
    return (int)(top->rows == 0
                     ? cudaSuccess
                     : cuda_launch(in_top_kernel, loss_grid(top->rows), dim3(LOSS_THREADS), 0, stream, *top));
}
