#include "worker/cuda/kernels/rows.h"

#include <cmath>

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/softmax.cuh"

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
        if constexpr (is_floating<T>()) {
            return sum / (C)count;
        } else {
            bool is_signed = (T)(-1) < (T)1;
            return count == 0 ? 0 : is_signed ? (C)((int64_t)sum / count) : sum / (C)count;
        }
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
        if constexpr (is_floating<T>()) {
            return fabs(a);
        } else {
            bool is_signed = (T)(-1) < (T)1;
            return is_signed && (int64_t)a < 0 ? 0 - a : a;
        }
    }
};

template <typename T, typename C> struct Squares : Sum<T, C> {
    static __device__ __forceinline__ C
    take(C a)
    {
        return a * a;
    }
};

template <typename T, typename C> struct HalfOfSquares : Squares<T, C> {
    static __device__ __forceinline__ C
    finish(C sum, int64_t count)
    {
        (void)count;
        return sum / 2;
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

/* Returns where element `i` of those folded into one lies, whose first is at `base`. */
__device__ __forceinline__ int64_t
folded_position(const CudaReduce &reduce, int64_t base, int64_t i)
{
    int64_t at[1] = {base};
    index_offsets<1>(i, reduce.folded.rank, reduce.folded.sizes, reduce.folded.strides, at);
    return at[0];
}

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
            value = F::join(value, F::take((C)load(input, folded_position(reduce, base[0], i))));
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

/* Elements that are equal to the largest one count 1, infinities too. */
template <typename T, typename C>
__global__ void
reduce_exponentials_kernel(CudaReduce reduce)
{
    const T *input = (const T *)reduce.input;
    for (int64_t row = blockIdx.x; row < reduce.output_count; row += gridDim.x) {
        int64_t base[1] = {0};
        index_offsets<1>(row, reduce.kept.rank, reduce.kept.sizes, reduce.kept.strides, base);
        C largest = Largest<C>::none();
        for (int64_t i = threadIdx.x; i < reduce.count; i += blockDim.x) {
            largest = Largest<C>::join(largest, load(input, folded_position(reduce, base[0], i)));
        }
        largest = block_join<Largest<C>>(largest);
        C sum = 0;
        for (int64_t i = threadIdx.x; i < reduce.count; i += blockDim.x) {
            C value = load(input, folded_position(reduce, base[0], i));
            bool is_nothing = value == -(C)INFINITY;
            sum += is_nothing ? 0 : value == largest ? 1 : exp(value - largest);
        }
        sum = block_join<Sum<T, C>>(sum);
        if (threadIdx.x == 0) {
            store((T *)reduce.output, row, sum == 0 ? -(C)INFINITY : largest + log(sum));
        }
    }
}

template <typename T>
static cudaError_t
reduce_exponentials(const CudaReduce *reduce, cudaStream_t stream)
{
    if (reduce == nullptr || reduce->output_count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(reduce_exponentials_kernel<T, Accumulator<T>>, row_grid(reduce->output_count),
        dim3(ROW_THREADS), 0, stream, *reduce);
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
        NUMBERS_CASE(CUDA_REDUCE_MEAN, Mean)
        NUMBERS_CASE(CUDA_REDUCE_PRODUCT, Product)
        EXTREMES_CASE(CUDA_REDUCE_MAXIMUM, Maximum, Any)
        EXTREMES_CASE(CUDA_REDUCE_MINIMUM, Minimum, All)
        NUMBERS_CASE(CUDA_REDUCE_ABSOLUTE_SUM, AbsoluteSum)
        NUMBERS_CASE(CUDA_REDUCE_SQUARES, Squares)
        FLOATS_CASE(CUDA_REDUCE_HALF_OF_SQUARES, HalfOfSquares)
        FLOATS_CASE(CUDA_REDUCE_NORM, Norm)
        FLOATS_CASE(CUDA_REDUCE_LOGARITHM, LogarithmOfSum)
    case CUDA_REDUCE_EXPONENTIALS:
        EACH_FLOATING_TYPE(type, reduce_exponentials<T>(reduce, stream));
    }
    return (int)cudaErrorInvalidValue;
}

/* Returns the position of a line's first element. */
__device__ __forceinline__ int64_t
line_start(const CudaLines &lines, int64_t line)
{
    return line / lines.inner * lines.size * lines.inner + line % lines.inner;
}

template <typename T, typename C>
__global__ void
softmax_kernel(CudaLines lines, bool is_logarithm)
{
    for (int64_t line = blockIdx.x; line < lines.outer * lines.inner; line += gridDim.x) {
        int64_t first = line_start(lines, line);
        softmax_line<T, C>(
            (const T *)lines.input + first, (T *)lines.output + first, lines.size, lines.inner, is_logarithm);
    }
}

/* Lines of at most as many elements as a block has threads, which a warp each computes: it reads them once.
 */
enum { SHORT_LINE_MAX = ROW_THREADS, SHORT_PARTS = SHORT_LINE_MAX / WARP_THREADS };

/* Joins as block_join() does in a block whose threads have one element each: every 32 of them, then the
 * results of these. So the bits are the same. */
template <typename F, typename C>
__device__ __forceinline__ C
warp_join(const C *parts, int part_count)
{
    int lane = (int)threadIdx.x % WARP_THREADS;
    C value = F::none();
#pragma unroll
    for (int part = 0; part < SHORT_PARTS; part++) {
        if (part < part_count) {
            C joined = parts[part];
            for (int by = WARP_THREADS / 2; by > 0; by /= 2) {
                joined = F::join(joined, __shfl_xor_sync(0xffffffffU, joined, by));
            }
            value = lane == part ? joined : value;
        }
    }
    for (int by = WARP_THREADS / 2; by > 0; by /= 2) {
        value = F::join(value, __shfl_xor_sync(0xffffffffU, value, by));
    }
    return value;
}

template <typename T, typename C>
__device__ __forceinline__ void
softmax_short_line(const T *input, T *output, int size, int64_t step, bool is_logarithm)
{
    int lane = (int)threadIdx.x % WARP_THREADS;
    int part_count = (size + WARP_THREADS - 1) / WARP_THREADS;
    C scores[SHORT_PARTS];
    C powers[SHORT_PARTS];
#pragma unroll
    for (int part = 0; part < SHORT_PARTS; part++) {
        int i = part * WARP_THREADS + lane;
        scores[part] = i < size ? (C)load(input, i * step) : Largest<C>::none();
        powers[part] = Largest<C>::join(Largest<C>::none(), scores[part]);
    }
    C largest = warp_join<Largest<C>>(powers, part_count);
#pragma unroll
    for (int part = 0; part < SHORT_PARTS; part++) {
        int i = part * WARP_THREADS + lane;
        scores[part] = scores[part] - largest;
        powers[part] = i < size ? (C)exp(scores[part]) : (C)0;
    }
    C sum = warp_join<BlockSum<C>>(powers, part_count);
    C logarithm = is_logarithm ? (C)log(sum) : (C)0;
#pragma unroll
    for (int part = 0; part < SHORT_PARTS; part++) {
        int i = part * WARP_THREADS + lane;
        if (i < size) {
            store(output, i * step, is_logarithm ? scores[part] - logarithm : powers[part] / sum);
        }
    }
}

template <typename T, typename C>
__global__ void
softmax_short_kernel(CudaLines lines, bool is_logarithm)
{
    int64_t warps = blockDim.x / WARP_THREADS;
    int64_t warp = blockIdx.x * warps + threadIdx.x / WARP_THREADS;
    for (int64_t line = warp; line < lines.outer * lines.inner; line += gridDim.x * warps) {
        int64_t first = line_start(lines, line);
        softmax_short_line<T, C>((const T *)lines.input + first, (T *)lines.output + first, (int)lines.size,
            lines.inner, is_logarithm);
    }
}

template <typename T>
static cudaError_t
softmax(const CudaLines *lines, bool is_logarithm, cudaStream_t stream)
{
    if (lines->size <= SHORT_LINE_MAX) {
        int64_t warps = ROW_THREADS / WARP_THREADS;
        int64_t blocks = (lines->outer * lines->inner + warps - 1) / warps;
        return cuda_launch(softmax_short_kernel<T, Accumulator<T>>, row_grid(blocks), dim3(ROW_THREADS), 0,
            stream, *lines, is_logarithm);
    }
    return cuda_launch(softmax_kernel<T, Accumulator<T>>, row_grid(lines->outer * lines->inner),
        dim3(ROW_THREADS), 0, stream, *lines, is_logarithm);
}

extern "C" int
cuda_softmax(CudaType type, const CudaLines *lines, bool is_logarithm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, softmax<T>(lines, is_logarithm, stream));
}

/* A thread reads and writes elements of its own only. */
template <typename T, typename C>
__global__ void
hardmax_kernel(CudaLines lines)
{
    for (int64_t line = blockIdx.x; line < lines.outer * lines.inner; line += gridDim.x) {
        int64_t start = line_start(lines, line);
        const T *input = (const T *)lines.input + start;
        C largest = find_largest<T, C>(input, lines.size, lines.inner);
        int64_t first = BlockLeast::none();
        for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
            first = load(input, i * lines.inner) == largest ? BlockLeast::join(first, i) : first;
        }
        first = block_join<BlockLeast>(first);
        for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
            store((T *)lines.output, start + i * lines.inner, i == first ? (C)1 : (C)0);
        }
    }
}

template <typename T>
static cudaError_t
hardmax(const CudaLines *lines, cudaStream_t stream)
{
    return cuda_launch(hardmax_kernel<T, Accumulator<T>>, row_grid(lines->outer * lines->inner),
        dim3(ROW_THREADS), 0, stream, *lines);
}

extern "C" int
cuda_hardmax(CudaType type, const CudaLines *lines, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, hardmax<T>(lines, stream));
}

/* What a row is normalised by. */
template <typename C> struct RowMoments {
    C mean;
    C deviation; /* 1 / √(variance + ε) */
};

/* A row of a tensor. */
template <typename T, typename C> struct TensorRow {
    const T *input;
    __device__ __forceinline__ C
    operator()(int64_t i) const
    {
        return load(input, i);
    }
};

template <typename C, typename Row>
__device__ __forceinline__ C
row_mean(const Row &row, int64_t size)
{
    C sum = 0;
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
        sum += row(i);
    }
    return block_join<BlockSum<C>>(sum) / (C)size;
}

template <typename C, typename Row>
__device__ __forceinline__ C
row_deviation(const Row &row, int64_t size, C mean, float epsilon)
{
    C squares = 0;
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
        C distance = row(i) - mean;
        squares += distance * distance;
    }
    C variance = block_join<BlockSum<C>>(squares) / (C)size;
    return (C)(1 / sqrt(variance + (C)epsilon));
}

/* The mean is taken first, then the squares of the distances from it: nothing cancels. */
template <typename T, typename C>
__device__ __forceinline__ RowMoments<C>
row_moments(const T *input, int64_t size, float epsilon)
{
    TensorRow<T, C> row = {input};
    C mean = row_mean<C>(row, size);
    return {mean, row_deviation<C>(row, size, mean, epsilon)};
}

template <typename T, typename C>
__global__ void
layer_norm_kernel(CudaLayerNorm norm)
{
    const T *scale = (const T *)norm.scale;
    const T *bias = (const T *)norm.bias;
    for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
        const T *input = (const T *)norm.input + row * norm.size;
        T *output = (T *)norm.output + row * norm.size;
        RowMoments<C> moments = row_moments<T, C>(input, norm.size, norm.epsilon);
        for (int64_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            C shift = bias == nullptr ? (C)0 : load(bias, i);
            store(output, i, (load(input, i) - moments.mean) * moments.deviation * load(scale, i) + shift);
        }
        if (threadIdx.x == 0 && norm.mean != nullptr) {
            ((C *)norm.mean)[row] = moments.mean;
        }
        if (threadIdx.x == 0 && norm.deviation != nullptr) {
            ((C *)norm.deviation)[row] = moments.deviation;
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

/* A row of a sum, which is computed each time that it is read: what it is made of lies in the cache by then.
 */
template <typename T, typename C> struct SkipRow {
    const T *input;
    const T *skip;
    const T *bias;
    __device__ __forceinline__ C
    operator()(int64_t i) const
    {
        C sum = (C)load(input, i) + (C)load(skip, i);
        return bias == nullptr ? sum : sum + (C)load(bias, i);
    }
};

template <typename T, typename C>
__global__ void
skip_norm_kernel(CudaSkipNorm norm)
{
    const T *gamma = (const T *)norm.gamma;
    const T *beta = (const T *)norm.beta;
    for (int64_t at = blockIdx.x; at < norm.rows; at += gridDim.x) {
        int64_t first = at * norm.size;
        SkipRow<T, C> row = {(const T *)norm.input + first,
            (const T *)norm.skip + at % norm.skip_rows * norm.size, (const T *)norm.bias};
        C mean = norm.has_mean ? row_mean<C>(row, norm.size) : (C)0;
        C deviation = row_deviation<C>(row, norm.size, mean, norm.epsilon);
        for (int64_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            C sum = row(i);
            C shift = beta == nullptr ? (C)0 : (C)load(beta, i);
            store((T *)norm.output, first + i, (sum - mean) * deviation * load(gamma, i) + shift);
            if (norm.sum != nullptr) {
                store((T *)norm.sum, first + i, sum);
            }
        }
        if (threadIdx.x == 0 && norm.mean != nullptr) {
            norm.mean[at] = (float)mean;
        }
        if (threadIdx.x == 0 && norm.deviation != nullptr) {
            norm.deviation[at] = (float)deviation;
        }
    }
}

template <typename T>
static cudaError_t
skip_norm(const CudaSkipNorm *norm, cudaStream_t stream)
{
    return cuda_launch(
        skip_norm_kernel<T, Accumulator<T>>, row_grid(norm->rows), dim3(ROW_THREADS), 0, stream, *norm);
}

extern "C" int
cuda_skip_norm(CudaType type, const CudaSkipNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, skip_norm<T>(norm, stream));
}

template <typename T, typename C>
__global__ void
instance_norm_kernel(CudaInstanceNorm norm)
{
    for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
        const T *input = (const T *)norm.input + row * norm.size;
        RowMoments<C> moments = row_moments<T, C>(input, norm.size, norm.epsilon);
        C factor = moments.deviation * load((const T *)norm.scale, row % norm.channels);
        C shift = load((const T *)norm.bias, row % norm.channels);
        for (int64_t i = threadIdx.x; i < norm.size; i += blockDim.x) {
            store((T *)norm.output, row * norm.size + i, (load(input, i) - moments.mean) * factor + shift);
        }
    }
}

template <typename T>
static cudaError_t
instance_norm(const CudaInstanceNorm *norm, cudaStream_t stream)
{
    return cuda_launch(
        instance_norm_kernel<T, Accumulator<T>>, row_grid(norm->rows), dim3(ROW_THREADS), 0, stream, *norm);
}

extern "C" int
cuda_instance_norm(CudaType type, const CudaInstanceNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, instance_norm<T>(norm, stream));
}

template <typename T, typename P>
__global__ void
channel_norm_kernel(CudaChannelNorm norm)
{
    using C = Accumulator<T>;
    int64_t count = norm.outer * norm.channels * norm.inner;
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t channel = i / norm.inner % norm.channels;
        C variance = load((const P *)norm.variance, channel) + (C)norm.epsilon;
        C factor = load((const P *)norm.scale, channel) / sqrt(variance);
        C distance = load((const T *)norm.input, i) - load((const P *)norm.mean, channel);
        store((T *)norm.output, i, distance * factor + load((const P *)norm.bias, channel));
    }
}

template <typename T>
static cudaError_t
channel_norm(const CudaChannelNorm *norm, cudaStream_t stream)
{
    auto kernel =
        norm->parameters == CUDA_FLOAT32 ? channel_norm_kernel<T, float> : channel_norm_kernel<T, T>;
    return cuda_launch(kernel, index_grid(norm->outer * norm->channels * norm->inner), dim3(INDEX_THREADS), 0,
        stream, *norm);
}

extern "C" int
cuda_channel_norm(CudaType type, const CudaChannelNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, channel_norm<T>(norm, stream));
}
