/* Two kernels, one after the other: the first notes what is the largest of each window, the second lets each
 * element of the image gather from the windows over it, in their order. No two threads add to one element. */
#include "worker/cuda/kernels/pooling.cuh"

/* Notes the offset of a window's first largest number, or of its first element when that is NaN. */
template <typename T> struct FirstLargest {
    using C = Accumulator<T>;
    using State = Found<C>;

    static __device__ __forceinline__ State
    begin(const CudaPool &pool)
    {
        (void)pool;
        return {0, -1};
    }

    static __device__ __forceinline__ void
    add(State *state, C value, int64_t offset)
    {
        if (value == value) {
            *state = larger_of(*state, State{value, offset});
        }
    }

    static __device__ __forceinline__ State
    join(const State &left, const State &right)
    {
        return larger_of(left, right);
    }

    static __device__ __forceinline__ void
    end(const CudaPool &pool, const Place &place, int64_t at, const State &state)
    {
        int64_t first = 0;
        for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
            int64_t start = place.start[dimension] < 0 ? 0 : place.start[dimension];
            first += dimension < pool.window.rank ? start * pool.window.input.space[dimension] : 0;
        }
        C value = load((const T *)pool.input, place.input + first);
        pool.indices[at] = value == value ? state.offset : first;
    }
};

/* Notes the largest number of a window, which no element equals when all are NaN. */
template <typename T> struct LargestNumber {
    using C = Accumulator<T>;
    using State = C;

    static __device__ __forceinline__ State
    begin(const CudaPool &pool)
    {
        (void)pool;
        return -(C)INFINITY;
    }

    static __device__ __forceinline__ void
    add(State *state, C value, int64_t offset)
    {
        (void)offset;
        *state = join(*state, value);
    }

    static __device__ __forceinline__ State
    join(State left, State right)
    {
        return right > left ? right : left;
    }

    static __device__ __forceinline__ void
    end(const CudaPool &pool, const Place &place, int64_t at, State state)
    {
        (void)place;
        store((T *)pool.output, at, state);
    }
};

/* The windows over an element of the image: a box of output positions. */
struct Cover {
    int64_t first[CUDA_WINDOW_RANK_MAX];
    int64_t size[CUDA_WINDOW_RANK_MAX];
    int64_t count;  /* of all windows */
    int64_t output; /* offset of the channel in the output */
    int64_t offset; /* of the element in its channel */
};

/* Finds the windows over element `index` of the image, which is dense, so that its steps divide the index. */
__device__ __forceinline__ Cover
cover_of(const CudaWindow &window, int64_t index)
{
    Cover cover = {};
    cover.count = 1;
    for (int d = 0; d < CUDA_WINDOW_RANK_MAX; d++) {
        if (d >= window.rank) {
            continue;
        }
        int64_t position = index / window.input.space[d] % window.input_size[d];
        int64_t ahead = position + window.before[d];
        int64_t past = ahead - window.size[d];
        int64_t last = ahead / window.stride[d];
        last = last < window.output_size[d] ? last : window.output_size[d] - 1;
        cover.first[d] = past < 0 ? 0 : past / window.stride[d] + 1;
        cover.size[d] = last < cover.first[d] ? 0 : last - cover.first[d] + 1;
        cover.count *= cover.size[d];
        cover.offset += position * window.input.space[d];
    }
    cover.output = index / window.input.batch % window.batch * window.output.batch +
                   index / window.input.channel % window.channels * window.output.channel;
    return cover;
}

/* A window over an element: where its gradient lies, and how many of its elements are in the image. */
struct Over {
    int64_t output;
    int64_t elements;
};

__device__ __forceinline__ Over
window_over(const CudaWindow &window, const Cover &cover, int64_t number)
{
    Over over = {cover.output, 1};
    for (int d = CUDA_WINDOW_RANK_MAX - 1; d >= 0; d--) {
        if (d >= window.rank) {
            continue;
        }
        int64_t next = index_quotient(number, cover.size[d]);
        int64_t position = cover.first[d] + (number - next * cover.size[d]);
        int64_t start = position * window.stride[d] - window.before[d];
        int64_t end = start + window.size[d];
        number = next;
        over.output += position * window.output.space[d];
        over.elements *= (end < window.input_size[d] ? end : window.input_size[d]) - (start < 0 ? 0 : start);
    }
    return over;
}

template <typename T, CudaPoolShare SHARE>
__device__ __forceinline__ Accumulator<T>
share_of(const CudaPoolGradient &gradient, const Cover &cover, const Over &over, Accumulator<T> own)
{
    using C = Accumulator<T>;
    C whole = load((const T *)gradient.gradients, over.output);
    if constexpr (SHARE == CUDA_POOL_FIRST_LARGEST) {
        return ((const int64_t *)gradient.largest)[over.output] == cover.offset ? whole : (C)0;
    } else if constexpr (SHARE == CUDA_POOL_EVERY_LARGEST) {
        return load((const T *)gradient.largest, over.output) == own ? whole : (C)0;
    } else {
        return whole / (C)over.elements;
    }
}

template <typename T, CudaPoolShare SHARE>
__global__ void
gather_kernel(const CudaPoolGradient gradient, int64_t count)
{
    using C = Accumulator<T>;
    for (int64_t index = index_first(); index < count; index += index_step()) {
        Cover cover = cover_of(gradient.window, index);
        C own = SHARE == CUDA_POOL_EVERY_LARGEST ? (C)load((const T *)gradient.image, index) : (C)0;
        C sum = 0;
        for (int64_t number = 0; number < cover.count; number++) {
            sum += share_of<T, SHARE>(gradient, cover, window_over(gradient.window, cover, number), own);
        }
        store((T *)gradient.output, index, sum);
    }
}

template <typename T>
static cudaError_t
note_largest(CudaPoolShare share, const CudaPoolGradient *gradient, cudaStream_t stream)
{
    CudaPool pool = {};
    pool.window = gradient->window;
    pool.input = gradient->image;
    pool.output = gradient->largest;
    pool.indices = (int64_t *)gradient->largest;
    return share == CUDA_POOL_FIRST_LARGEST   ? run_pool<FirstLargest<T>, T>(&pool, stream)
           : share == CUDA_POOL_EVERY_LARGEST ? run_pool<LargestNumber<T>, T>(&pool, stream)
                                              : cudaSuccess;
}

template <typename T>
static cudaError_t
spread_gradient(CudaPoolShare share, const CudaPoolGradient *gradient, cudaStream_t stream)
{
    int64_t count = gradient->window.batch * gradient->window.channels;
    for (int dimension = 0; dimension < gradient->window.rank; dimension++) {
        count *= gradient->window.input_size[dimension];
    }
    if (count == 0) {
        return cudaSuccess;
    }
    cudaError_t error = note_largest<T>(share, gradient, stream);
    void (*kernel)(CudaPoolGradient, int64_t) =
        share == CUDA_POOL_FIRST_LARGEST   ? gather_kernel<T, CUDA_POOL_FIRST_LARGEST>
        : share == CUDA_POOL_EVERY_LARGEST ? gather_kernel<T, CUDA_POOL_EVERY_LARGEST>
                                           : gather_kernel<T, CUDA_POOL_EVENLY>;
    return error != cudaSuccess
               ? error
               : cuda_launch(kernel, index_grid(count), dim3(INDEX_THREADS), 0, stream, *gradient, count);
}

extern "C" int
cuda_pool_gradient(CudaPoolShare share, CudaType type, const CudaPoolGradient *gradient, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, spread_gradient<T>(share, gradient, stream));
}
