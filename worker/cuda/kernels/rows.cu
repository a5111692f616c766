#include "worker/cuda/kernels/rows.h"

#include <cmath>

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

enum { ROW_THREADS = 256 };
static constexpr int64_t ROWS_MAX = 1 << 20; /* blocks; each takes every n-th row */

static dim3
row_grid(int64_t rows)
{
    return dim3((unsigned)(rows < ROWS_MAX ? rows : ROWS_MAX));
}

/* A reduction of elements stored as T, which are joined as C: take() makes an element ready, finish() the
 * result. */
template <typename T, typename C> struct Sum {
    static __device__ __forceinline__ C
    none()
    {
        return 0;
    }
    static __device__ __forceinline__ C
    take(C a)
    {
        return a;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a + b;
    }
    static __device__ __forceinline__ C
    finish(C sum, int64_t count)
    {
        (void)count;
        return sum;
    }
};

template <typename T, typename C> struct Mean : Sum<T, C> {
    static __device__ __forceinline__ C
    finish(C sum, int64_t count)
    {
        return sum / (C)count;
    }
};

template <typename T, typename C> struct Product : Sum<T, C> {
    static __device__ __forceinline__ C
    none()
    {
        return 1;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a * b;
    }
};

template <typename T, typename C> struct AbsoluteSum : Sum<T, C> {
    static __device__ __forceinline__ C
    take(C a)
    {
        return fabs(a);
    }
};

template <typename T, typename C> struct Squares : Sum<T, C> {
    static __device__ __forceinline__ C
    take(C a)
    {
        return a * a;
    }
};

template <typename T, typename C> struct Norm : Squares<T, C> {
    static __device__ __forceinline__ C
    finish(C sum, int64_t count)
    {
        (void)count;
        return sqrt(sum);
    }
};

template <typename T, typename C> struct LogarithmOfSum : Sum<T, C> {
    static __device__ __forceinline__ C
    finish(C sum, int64_t count)
    {
        (void)count;
        return log(sum);
    }
};

/* The extremes of no elements are the ends of the type; NaN wins. */
template <typename T, typename C> struct Maximum : Sum<T, C> {
    static __device__ __forceinline__ C
    none()
    {
        if constexpr (is_floating<T>()) {
            return -(C)INFINITY;
        } else {
            bool is_signed = (T)(-1) < (T)1;
            return is_signed ? (C)((T)(1ULL << (8 * sizeof(T) - 1))) : 0;
        }
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a > b || a != a ? a : b;
    }
};

template <typename T, typename C> struct Minimum : Sum<T, C> {
    static __device__ __forceinline__ C
    none()
    {
        if constexpr (is_floating<T>()) {
            return (C)INFINITY;
        } else {
            bool is_signed = (T)(-1) < (T)1;
            return is_signed ? (C)((T)((1ULL << (8 * sizeof(T) - 1)) - 1)) : (C)((T)(-1));
        }
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a < b || a != a ? a : b;
    }
};

/* Bools are bytes, 0 or 1. */
template <typename T, typename C> struct Any : Sum<T, C> {
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a | b;
    }
};

template <typename T, typename C> struct All : Sum<T, C> {
    static __device__ __forceinline__ C
    none()
    {
        return 1;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return a & b;
    }
};

template <typename F, typename T, typename C>
__global__ void
reduce_kernel(CudaReduce reduce)
{
    const T *input = (const T *)reduce.input;
    for (int64_t row = blockIdx.x; row < reduce.output_count; row += gridDim.x) {
        int64_t base[1] = {0};
        index_offsets<1>(row, reduce.kept.rank, reduce.kept.sizes, reduce.kept.strides, base);
        C value = F::none();
        for (int64_t i = threadIdx.x; i < reduce.count; i += blockDim.x) {
            int64_t at[1] = {base[0]};
            index_offsets<1>(i, reduce.folded.rank, reduce.folded.sizes, reduce.folded.strides, at);
            value = F::join(value, F::take((C)load(input, at[0])));
        }
        value = block_join<F>(value);
        if (threadIdx.x == 0) {
            store((T *)reduce.output, row, F::finish(value, reduce.count));
        }
    }
}

template <typename F, typename T, typename C>
static cudaError_t
reduce_rows(const CudaReduce *reduce, cudaStream_t stream)
{
    if (reduce == nullptr || reduce->output_count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(
        reduce_kernel<F, T, C>, row_grid(reduce->output_count), dim3(ROW_THREADS), 0, stream, *reduce);
}

#define FLOATING_REDUCTION(F)                                                                                \
    FLOATING_CASES((reduce_rows<F<T, Accumulator<T>>, T, Accumulator<T>>(reduce, stream)))
#define SIGNED_REDUCTION(F, C) SIGNED_CASES((reduce_rows<F<T, C>, T, C>(reduce, stream)))
#define UNSIGNED_REDUCTION(F) UNSIGNED_CASES((reduce_rows<F<T, uint64_t>, T, uint64_t>(reduce, stream)))
#define BOOL_REDUCTION(F) TYPE_CASE(CUDA_BOOL, uint8_t, (reduce_rows<F<T, int>, T, int>(reduce, stream)))
#define FLOATS_CASE(name, F)                                                                                 \
    case name:                                                                                               \
        TYPE_SWITCH(type, FLOATING_REDUCTION(F))
#define NUMBERS_CASE(name, F)                                                                                \
    case name:                                                                                               \
        TYPE_SWITCH(type, FLOATING_REDUCTION(F) SIGNED_REDUCTION(F, uint64_t) UNSIGNED_REDUCTION(F))
#define EXTREMES_CASE(name, F, of_bool)                                                                      \
    case name:                                                                                               \
        TYPE_SWITCH(type, FLOATING_REDUCTION(F) SIGNED_REDUCTION(F, int64_t) UNSIGNED_REDUCTION(F)           \
                              BOOL_REDUCTION(of_bool))

extern "C" int
cuda_reduce(CudaReduction reduction, CudaType type, const CudaReduce *reduce, cudaStream_t stream)
{
    switch (reduction) {
        NUMBERS_CASE(CUDA_REDUCE_SUM, Sum)
        FLOATS_CASE(CUDA_REDUCE_MEAN, Mean)
        NUMBERS_CASE(CUDA_REDUCE_PRODUCT, Product)
        EXTREMES_CASE(CUDA_REDUCE_MAXIMUM, Maximum, Any)
        EXTREMES_CASE(CUDA_REDUCE_MINIMUM, Minimum, All)
        FLOATS_CASE(CUDA_REDUCE_ABSOLUTE_SUM, AbsoluteSum)
        NUMBERS_CASE(CUDA_REDUCE_SQUARES, Squares)
        FLOATS_CASE(CUDA_REDUCE_NORM, Norm)
        FLOATS_CASE(CUDA_REDUCE_LOGARITHM, LogarithmOfSum)
    }
    return (int)cudaErrorInvalidValue;
}

/* A number that is not NaN wins over NaN, which the sum then shows. */
template <typename C> struct Largest {
    static __device__ __forceinline__ C
    none()
    {
        return -(C)INFINITY;
    }
    static __device__ __forceinline__ C
    join(C a, C b)
    {
        return fmax(a, b);
    }
};

/* The largest score is subtracted first. A thread reads and writes elements of its own only. */
template <typename T, typename C>
__global__ void
softmax_kernel(CudaLines lines, bool is_logarithm)
{
    for (int64_t line = blockIdx.x; line < lines.outer * lines.inner; line += gridDim.x) {
        int64_t first = line / lines.inner * lines.size * lines.inner + line % lines.inner;
        const T *input = (const T *)lines.input + first;
        T *output = (T *)lines.output + first;
        C largest = Largest<C>::none();
        for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
            largest = Largest<C>::join(largest, load(input, i * lines.inner));
        }
        largest = block_join<Largest<C>>(largest);
        C sum = 0;
        for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
            sum += exp(load(input, i * lines.inner) - largest);
        }
        sum = block_join<Sum<T, C>>(sum);
        C logarithm = log(sum);
        for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
            C score = load(input, i * lines.inner) - largest;
            store(output, i * lines.inner, is_logarithm ? score - logarithm : exp(score) / sum);
        }
    }
}

template <typename T>
static cudaError_t
softmax(const CudaLines *lines, bool is_logarithm, cudaStream_t stream)
{
    return cuda_launch(softmax_kernel<T, Accumulator<T>>, row_grid(lines->outer * lines->inner),
        dim3(ROW_THREADS), 0, stream, *lines, is_logarithm);
}

extern "C" int
cuda_softmax(CudaType type, const CudaLines *lines, bool is_logarithm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, softmax<T>(lines, is_logarithm, stream));
}

/* The mean is taken first, then the squares of the distances from it: nothing cancels. */
template <typename T, typename C>
__global__ void
layer_norm_kernel(CudaLayerNorm norm)
{
    const T *scale = (const T *)norm.scale;
    const T *bias = (const T *)norm.bias;
    for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
        const T *input = (const T *)norm.input + row * norm.size;
        T *output = (T *)norm.output + row * norm.size;
        C sum = 0;
        for (int64_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            sum += load(input, i);
        }
        C mean = block_join<Sum<T, C>>(sum) / (C)norm.size;
        C squares = 0;
        for (int64_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            C distance = load(input, i) - mean;
            squares += distance * distance;
        }
        C variance = block_join<Sum<T, C>>(squares) / (C)norm.size;
        C deviation = 1 / sqrt(variance + (C)norm.epsilon);
        for (int64_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            C shift = bias == nullptr ? (C)0 : load(bias, i);
            store(output, i, (load(input, i) - mean) * deviation * load(scale, i) + shift);
        }
        if (threadIdx.x == 0 && norm.mean != nullptr) {
            ((C *)norm.mean)[row] = mean;
        }
        if (threadIdx.x == 0 && norm.deviation != nullptr) {
            ((C *)norm.deviation)[row] = deviation;
        }
    }
}

template <typename T>
static cudaError_t
layer_norm(const CudaLayerNorm *norm, cudaStream_t stream)
{
    return cuda_launch(
        layer_norm_kernel<T, Accumulator<T>>, row_grid(norm->rows), dim3(ROW_THREADS), 0, stream, *norm);
}

extern "C" int
cuda_layer_norm(CudaType type, const CudaLayerNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, layer_norm<T>(norm, stream));
}

template <typename T, typename C>
__global__ void
channel_norm_kernel(CudaChannelNorm norm)
{
    int64_t count = norm.outer * norm.channels * norm.inner;
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t channel = i / norm.inner % norm.channels;
        C variance = load((const T *)norm.variance, channel) + (C)norm.epsilon;
        C factor = load((const T *)norm.scale, channel) / sqrt(variance);
        C distance = load((const T *)norm.input, i) - load((const T *)norm.mean, channel);
        store((T *)norm.output, i, distance * factor + load((const T *)norm.bias, channel));
    }
}

template <typename T>
static cudaError_t
channel_norm(const CudaChannelNorm *norm, cudaStream_t stream)
{
    return cuda_launch(channel_norm_kernel<T, Accumulator<T>>,
        index_grid(norm->outer * norm->channels * norm->inner), dim3(INDEX_THREADS), 0, stream, *norm);
}

extern "C" int
cuda_channel_norm(CudaType type, const CudaChannelNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, channel_norm<T>(norm, stream));
}
