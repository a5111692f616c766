#include "worker/cuda/kernels/pooling.cuh"

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

template <typename T> struct Largest {
    using C = Accumulator<T>;
    using State = Found<C>;

    static __device__ __forceinline__ State
    begin(const CudaPool &pool)
    {
        (void)pool;
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
    begin(const CudaPool &pool)
    {
        (void)pool;
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

/* The p-th root of the sum of p-th powers, in double. */
struct Powers {
    double sum;
    double p;
};

template <typename T> struct Norm {
    using C = Accumulator<T>;
    using State = Powers;

    static __device__ __forceinline__ State
    begin(const CudaPool &pool)
    {
        return {0, (double)pool.p};
    }

    static __device__ __forceinline__ void
    add(State *state, C value, int64_t offset)
    {
        (void)offset;
        state->sum += pow(fabs((double)value), state->p);
    }

    static __device__ __forceinline__ State
    join(const State &left, const State &right)
    {
        return {left.sum + right.sum, left.p};
    }

    static __device__ __forceinline__ void
    end(const CudaPool &pool, const Place &place, int64_t at, const State &state)
    {
        (void)place;
        store((T *)pool.output, at, (C)pow(state.sum, 1 / state.p));
    }
};

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

template <typename T>
static cudaError_t
run_norm(const CudaPool *pool, cudaStream_t stream)
{
    return run_pool<Norm<T>, T>(pool, stream);
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

extern "C" int
cuda_pool_norm(CudaType type, const CudaPool *pool, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, run_norm<T>(pool, stream));
}
