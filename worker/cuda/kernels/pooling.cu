#include "worker/cuda/kernels/pooling.h"

#include "worker/cuda/kernels/index.cuh"

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

/* Counts the elements of a window that lie within the padded input. */
__device__ __forceinline__ int64_t
count_padded(const CudaWindow &window, const Place &place)
{
    int64_t count = 1;
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        if (dimension >= window.rank) {
            continue;
        }
        int64_t room = window.input_size[dimension] + window.after[dimension] - place.start[dimension];
        int64_t inside = room <= 0 ? 0 : (room - 1) / window.dilation[dimension] + 1;
        count *= inside < window.size[dimension] ? inside : window.size[dimension];
    }
    return count;
}

/* Returns the index of an input element in its plane, counted as ONNX does. */
__device__ __forceinline__ int64_t
plane_index(const CudaPool &pool, int64_t offset)
{
    if (!pool.is_column_major) {
        return offset;
    }
    int64_t index = 0;
    int64_t size = 1;
    for (int dimension = 0; dimension < pool.window.rank; dimension++) {
        index += offset / pool.window.input.space[dimension] * size;
        offset %= pool.window.input.space[dimension];
        size *= pool.window.input_size[dimension];
    }
    return index;
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

/* The largest value of a window that has none. */
template <typename T>
__device__ __forceinline__ Accumulator<T>
lowest_value()
{
    if constexpr ((Accumulator<T>)0.5 > 0) { /* no integer */
        return -(Accumulator<T>)INFINITY;
    } else {
        constexpr bool is_signed = (T)-1 < (T)0;
        return is_signed ? (T)((uint64_t)1 << (8 * sizeof(T) - 1)) : (T)0;
    }
}

/* The way in which values become one: a state, its beginning, what adds a value and joins two states, and its
 * result. */
template <typename T> struct Largest {
    using C = Accumulator<T>;
    using State = Found<C>;

    static __device__ __forceinline__ State
    begin()
    {
        return {lowest_value<T>(), -1};
    }

    static __device__ __forceinline__ void
    add(State *state, C value, int64_t offset)
    {
        *state = larger_of(*state, State{value, offset});
    }

    static __device__ __forceinline__ State
    join(const State &left, const State &right)
    {
        return larger_of(left, right);
    }

    static __device__ __forceinline__ void
    end(const CudaPool &pool, const Place &place, int64_t at, const State &state)
    {
        store((T *)pool.output, at, state.value);
        if (pool.indices != nullptr) {
            pool.indices[at] =
                state.offset < 0 ? -1 : place.plane * pool.plane + plane_index(pool, state.offset);
        }
    }
};

template <typename C> struct Sum {
    C value;
    int64_t count;
};

template <typename T> struct Mean {
    using C = Accumulator<T>;
    using State = Sum<C>;

    static __device__ __forceinline__ State
    begin()
    {
        return {0, 0};
    }

    static __device__ __forceinline__ void
    add(State *state, C value, int64_t offset)
    {
        (void)offset;
        state->value += value;
        state->count++;
    }

    static __device__ __forceinline__ State
    join(const State &left, const State &right)
    {
        return {left.value + right.value, left.count + right.count};
    }

    static __device__ __forceinline__ void
    end(const CudaPool &pool, const Place &place, int64_t at, const State &state)
    {
        int64_t count = pool.counts_padding ? count_padded(pool.window, place) : state.count;
        store((T *)pool.output, at, state.value / (C)count);
    }
};

template <typename Rule, typename T>
__device__ __forceinline__ typename Rule::State
walk_window(const CudaPool &pool, const Place &place, int64_t first, int64_t step, int64_t elements)
{
    typename Rule::State state = Rule::begin();
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

template <typename T>
static cudaError_t
run_largest(const CudaPool *pool, cudaStream_t stream)
{
    return run_pool<Largest<T>, T>(pool, stream);
}

template <typename T>
static cudaError_t
run_mean(const CudaPool *pool, cudaStream_t stream)
{
    return run_pool<Mean<T>, T>(pool, stream);
}

extern "C" int
cuda_pool_largest(CudaType type, const CudaPool *pool, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, run_largest<T>(pool, stream));
}

extern "C" int
cuda_pool_mean(CudaType type, const CudaPool *pool, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, run_mean<T>(pool, stream));
}
