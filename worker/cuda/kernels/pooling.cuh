/* Functions of the elements under a window, for pools and their gradients: a thread for each window, or a
 * block where windows are wide. */
#pragma once

#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/pooling.h"

/* Windows of WIDE_MIN elements or more (global pools) are shared by the threads of a block; smaller ones
 * have a thread each. */
enum { THREADS = 256, WIDE_MIN = 256 };

/* The place of an output element. */
struct Place {
    int64_t start[CUDA_WINDOW_RANK_MAX]; /* of its window in the input */
    int64_t input;                       /* offset of its channel in the input */
    int64_t plane;                       /* number of its channel, counting all batches' */
};

/* Finds the place of output element `at`: the output is dense, so that its steps divide the index. */
__device__ __forceinline__ Place
place_of(const CudaWindow &window, int64_t at)
{
    Place place;
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        int64_t position =
            dimension < window.rank ? at / window.output.space[dimension] % window.output_size[dimension] : 0;
        place.start[dimension] = position * window.stride[dimension] - window.before[dimension];
    }
    int64_t channel = at / window.output.channel % window.channels;
    int64_t batch = at / window.output.batch % window.batch;
    place.input = batch * window.input.batch + channel * window.input.channel;
    place.plane = batch * window.channels + channel;
    return place;
}

/* Returns the offset of the input element under element `index` of a window, or -1 when that is padding. */
__device__ __forceinline__ int64_t
input_offset(const CudaWindow &window, const Place &place, int64_t index)
{
    int64_t offset = 0;
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        if (dimension >= window.rank) {
            continue;
        }
        int64_t at = place.start[dimension] + index % window.size[dimension] * window.dilation[dimension];
        index /= window.size[dimension];
        if (at < 0 || at >= window.input_size[dimension]) {
            return -1;
        }
        offset += at * window.input.space[dimension];
    }
    return offset;
}

/* A value and where it was found; -1: nowhere. */
template <typename C> struct Found {
    C value;
    int64_t offset;
};

/* Returns of two the one that a walk in the input's order would keep: the first of the largest, the first
 * NaN. */
template <typename C>
__device__ __forceinline__ Found<C>
larger_of(const Found<C> &left, const Found<C> &right)
{
    if (left.offset < 0 || right.offset < 0) {
        return left.offset < 0 ? right : left;
    }
    bool is_left_nan = left.value != left.value;
    bool is_right_nan = right.value != right.value;
    if (is_left_nan != is_right_nan) {
        return is_left_nan ? left : right;
    }
    if (!is_left_nan && left.value != right.value) {
        return left.value > right.value ? left : right;
    }
    return left.offset < right.offset ? left : right;
}

/* A Rule is the way in which values become one: a state, its beginning, what adds a value and joins two
 * states, and its result. */
template <typename Rule, typename T>
__device__ __forceinline__ typename Rule::State
walk_window(const CudaPool &pool, const Place &place, int64_t first, int64_t step, int64_t elements)
{
    typename Rule::State state = Rule::begin(pool);
    for (int64_t index = first; index < elements; index += step) {
        int64_t offset = input_offset(pool.window, place, index);
        if (offset >= 0) {
            Rule::add(&state, load((const T *)pool.input, place.input + offset), offset);
        }
    }
    return state;
}

template <typename Rule, typename T>
__global__ void
pool_each_kernel(const CudaPool pool, int64_t elements, int64_t count)
{
    for (int64_t at = index_first(); at < count; at += index_step()) {
        Place place = place_of(pool.window, at);
        Rule::end(pool, place, at, walk_window<Rule, T>(pool, place, 0, 1, elements));
    }
}

/* The same tree for every window: the bits depend on its size alone. */
template <typename Rule, typename T>
__global__ void
pool_wide_kernel(const CudaPool pool, int64_t elements, int64_t count)
{
    __shared__ typename Rule::State states[THREADS];
    int thread = (int)threadIdx.x;
    for (int64_t at = blockIdx.x; at < count; at += gridDim.x) {
        Place place = place_of(pool.window, at);
        states[thread] = walk_window<Rule, T>(pool, place, thread, THREADS, elements);
        for (int left = THREADS / 2; left > 0; left /= 2) {
            __syncthreads();
            if (thread < left) {
                states[thread] = Rule::join(states[thread], states[thread + left]);
            }
        }
        if (thread == 0) {
            Rule::end(pool, place, at, states[0]);
        }
        __syncthreads(); /* `states` are written anew for the next window */
    }
}

template <typename Rule, typename T>
static cudaError_t
run_pool(const CudaPool *pool, cudaStream_t stream)
{
    int64_t elements = 1;
    int64_t count = pool->window.batch * pool->window.channels;
    for (int dimension = 0; dimension < pool->window.rank; dimension++) {
        elements *= pool->window.size[dimension];
        count *= pool->window.output_size[dimension];
    }
    if (count == 0) {
        return cudaSuccess;
    }
    if (elements >= WIDE_MIN) {
        dim3 grid((unsigned)(count < INDEX_BLOCKS_MAX ? count : INDEX_BLOCKS_MAX));
        return cuda_launch(pool_wide_kernel<Rule, T>, grid, dim3(THREADS), 0, stream, *pool, elements, count);
    }
    return cuda_launch(
        pool_each_kernel<Rule, T>, index_grid(count), dim3(INDEX_THREADS), 0, stream, *pool, elements, count);
}
