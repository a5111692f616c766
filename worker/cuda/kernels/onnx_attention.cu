/* A block takes a row. */
#include "worker/cuda/kernels/onnx_attention.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/softmax.cuh"

enum { ATTENTION_THREADS = 256 };
static constexpr int64_t ATTENTION_BLOCKS_MAX = 1 << 20;

/* The keys that a query may see but for the mask: from the first one to before the end. */
struct AttentionSpan {
    int64_t first;
    int64_t end;
};

struct AttentionRow {
    int64_t at; /* of its first score */
    int64_t mask;
    int64_t head;
    AttentionSpan span;
};

/* Returns how many keys of a batch are no padding; a number that cannot be is refused. */
__device__ __forceinline__ int64_t
length_of(const CudaAttentionRows &rows, int64_t batch)
{
    int64_t length = rows.lengths == nullptr ? rows.keys : rows.lengths[batch];
    if (length >= 0 && length <= rows.keys) {
        return length;
    }
    if (threadIdx.x == 0) {
        refuse(rows.blame, batch, length, rows.keys);
    }
    return 0;
}

__device__ __forceinline__ AttentionSpan
span_of(const CudaAttentionRows &rows, int64_t batch, int64_t query)
{
    int64_t length = length_of(rows, batch);
    int64_t position = query + (rows.lengths == nullptr ? rows.past : length - rows.queries);
    AttentionSpan span = {0, length};
    if (rows.is_causal && position < span.end) {
        span.end = position + 1;
    }
    if (rows.left >= 0 && position > rows.left) {
        span.first = position - rows.left;
    }
    if (rows.right >= 0 && rows.right < span.end && position + rows.right < span.end) {
        span.end = position + rows.right + 1;
    }
    return span;
}

__device__ __forceinline__ AttentionRow
row_of(const CudaAttentionRows &rows, int64_t row)
{
    int64_t query = row % rows.queries;
    int64_t head = row / rows.queries % rows.heads;
    int64_t batch = row / rows.queries / rows.heads;
    const int64_t *strides = rows.mask_strides;
    return {row * rows.keys, batch * strides[0] + head * strides[1] + query * strides[2], head,
        span_of(rows, batch, query)};
}

/* Returns what the mask adds to a score. */
template <typename C>
__device__ __forceinline__ C
bias_of(const CudaAttentionRows &rows, const AttentionRow &row, int64_t key)
{
    if (key < row.span.first || key >= row.span.end) {
        return -(C)INFINITY;
    }
    if (rows.mask == nullptr) {
        return 0;
    }
    if (key >= rows.mask_keys) {
        return -(C)INFINITY;
    }
    int64_t at = row.mask + key * rows.mask_strides[CUDA_ATTENTION_RANK - 1];
    if (rows.mask_is_bool) {
        return ((const uint8_t *)rows.mask)[at] != 0 ? (C)0 : -(C)INFINITY;
    }
    return ((const C *)rows.mask)[at];
}

template <typename T, typename C>
__device__ __forceinline__ void
keep(const CudaAttentionRows &rows, CudaAttentionStage stage, int64_t at, C value)
{
    if (rows.kept != nullptr && rows.stage == stage) {
        store((T *)rows.kept, at, value);
    }
}

/* Returns the score of a key, -∞ when it is masked; with `keeps` the stages on the way may be kept. */
template <typename T, typename C>
__device__ __forceinline__ C
score_of(const CudaAttentionRows &rows, const AttentionRow &row, int64_t key, bool keeps)
{
    C score = load((const T *)rows.scores, row.at + key) * (C)rows.scale;
    C capped = rows.softcap > 0 ? (C)tanh(score / (C)rows.softcap) * (C)rows.softcap : score;
    C bias = bias_of<C>(rows, row, key);
    C masked = bias == -(C)INFINITY ? bias : capped + bias;
    if (keeps) {
        keep<T, C>(rows, CUDA_ATTENTION_PRODUCTS, row.at + key, score);
        keep<T, C>(rows, CUDA_ATTENTION_CAPPED, row.at + key, capped);
        keep<T, C>(rows, CUDA_ATTENTION_MASKED, row.at + key, masked);
    }
    return masked;
}

/* Returns the score of no key, which takes its share of the weights; -∞ without one. */
template <typename T, typename C>
__device__ __forceinline__ C
sink_of(const CudaAttentionRows &rows, const AttentionRow &row)
{
    C none = rows.is_smooth ? (C)0 : -(C)INFINITY;
    return rows.sinks == nullptr ? none : load((const T *)rows.sinks, row.head);
}

/* A thread reads and writes scores of its own only. */
template <typename T, typename C>
__global__ void
attention_rows_kernel(const CudaAttentionRows rows)
{
    for (int64_t number = blockIdx.x; number < rows.rows; number += gridDim.x) {
        AttentionRow row = row_of(rows, number);
        C sink = sink_of<T, C>(rows, row);
        C largest = sink;
        int seen = 0;
        for (int64_t key = threadIdx.x; key < rows.keys; key += blockDim.x) {
            largest = Largest<C>::join(largest, score_of<T, C>(rows, row, key, true));
            seen += bias_of<C>(rows, row, key) != -(C)INFINITY;
        }
        largest = block_join<Largest<C>>(largest);
        seen = block_join<BlockSum<int>>(seen);
        C sum = 0;
        for (int64_t key = threadIdx.x; key < rows.keys; key += blockDim.x) {
            sum += exp(score_of<T, C>(rows, row, key, false) - largest);
        }
        sum = block_join<BlockSum<C>>(sum) + (sink == -(C)INFINITY ? (C)0 : (C)exp(sink - largest));
        for (int64_t key = threadIdx.x; key < rows.keys; key += blockDim.x) {
            C weight = seen == 0 ? (C)0 : (C)exp(score_of<T, C>(rows, row, key, false) - largest) / sum;
            store((T *)rows.scores, row.at + key, weight);
            keep<T, C>(rows, CUDA_ATTENTION_WEIGHTS, row.at + key, weight);
        }
    }
}

template <typename T>
static cudaError_t
weigh(const CudaAttentionRows *rows, cudaStream_t stream)
{
    if (rows->rows == 0 || rows->keys == 0) {
        return cudaSuccess;
    }
    dim3 grid((unsigned)(rows->rows < ATTENTION_BLOCKS_MAX ? rows->rows : ATTENTION_BLOCKS_MAX));
    return cuda_launch(
        attention_rows_kernel<T, Accumulator<T>>, grid, dim3(ATTENTION_THREADS), 0, stream, *rows);
}

extern "C" int
cuda_attention_rows(CudaType type, const CudaAttentionRows *rows, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, weigh<T>(rows, stream));
}
