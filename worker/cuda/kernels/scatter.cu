#include "worker/cuda/kernels/scatter.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

/* A thread has one element of all rows of a range, and looks at every slice: so each element sees its slices
 * in their order, and nobody else writes it. There are as many ranges as make about this many threads. */
static constexpr int64_t FOLD_THREADS = 1 << 15;

template <typename T> struct WideOf {
    using Type = int64_t;
};
template <> struct WideOf<float> {
    using Type = double;
};
template <> struct WideOf<double> {
    using Type = double;
};
template <> struct WideOf<__half> {
    using Type = double;
};
template <> struct WideOf<__nv_bfloat16> {
    using Type = double;
};
template <> struct WideOf<uint8_t> {
    using Type = uint64_t;
};
template <> struct WideOf<uint16_t> {
    using Type = uint64_t;
};
template <> struct WideOf<uint32_t> {
    using Type = uint64_t;
};
template <> struct WideOf<uint64_t> {
    using Type = uint64_t;
};

/* The type in which sums and products of a wide type wrap. */
template <typename W> struct WrappingOf {
    using Type = uint64_t;
};
template <> struct WrappingOf<double> {
    using Type = double;
};
template <> struct WrappingOf<float> {
    using Type = float;
};

template <typename W>
__device__ __forceinline__ W
combine(CudaFoldRule rule, W a, W b)
{
    using U = typename WrappingOf<W>::Type;
    switch (rule) {
    case CUDA_FOLD_ADD:
        return (W)((U)a + (U)b);
    case CUDA_FOLD_SUBTRACT:
        return (W)((U)a - (U)b);
    case CUDA_FOLD_MULTIPLY:
        return (W)((U)a * (U)b);
    case CUDA_FOLD_DIVIDE:
        return (W)((U)a / (U)b);
    case CUDA_FOLD_MINIMUM:
        return b < a ? b : a;
    case CUDA_FOLD_MAXIMUM:
        return b > a ? b : a;
    case CUDA_FOLD_NEWER_MINIMUM:
        return a < b ? a : b;
    case CUDA_FOLD_NEWER_MAXIMUM:
        return a > b ? a : b;
    default:
        return b;
    }
}

/* Reads one coordinate. Returns whether the slice goes anywhere. */
__device__ __forceinline__ bool
read_coordinate(
    const CudaPlaces &places, const CudaBlame &blame, int64_t element, int64_t size, int64_t *ret_at)
{
    int64_t given = 0;
    bool is_read = load_integer(places.indices.type, places.indices.data, element, &given);
    int64_t at = places.indices.count_from_end && given < 0 ? given + size : given;
    bool is_below = is_read && at < 0;
    bool is_above = !is_read || at >= size;
    if (!is_below && !is_above) {
        *ret_at = at;
        return true;
    }
    if (is_below ? !places.drops_below : !places.drops_above) {
        refuse(blame, element, given, size);
    }
    return false;
}

__global__ void
places_kernel(CudaPlaces places, CudaBlame blame)
{
    for (int64_t i = index_first(); i < places.count; i += index_step()) {
        int64_t row = 0;
        bool is_there = true;
        for (int n = 0; is_there && n < places.depth; n++) {
            int64_t at = 0;
            is_there = read_coordinate(places, blame, i * places.depth + n, places.sizes[n], &at);
            row = row * places.sizes[n] + at;
        }
        places.places[i] = is_there ? row : -1;
    }
}

/* Folds element `at` of all slices whose places are in a range. */
template <typename T, typename W>
__device__ __forceinline__ void
fold_range(CudaFoldRule rule, const CudaFold &fold, int64_t at, int64_t first, int64_t end)
{
    const T *from = (const T *)fold.from;
    W *to = (W *)fold.to;
    for (int64_t n = 0; n < fold.count; n++) {
        int64_t row = fold.places[n];
        if (row >= first && row < end) {
            W value = from == nullptr ? W(1) : W(load(from, n * fold.inner + at));
            to[row * fold.inner + at] = combine(rule, to[row * fold.inner + at], value);
        }
    }
}

template <typename T>
__global__ void
fold_kernel(CudaFoldRule rule, CudaFold fold, int64_t range, int64_t total)
{
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t number = index_quotient(i, fold.inner);
        fold_range<T, typename WideOf<T>::Type>(
            rule, fold, i - number * fold.inner, number * range, (number + 1) * range);
    }
}

template <typename T>
__global__ void
fold_last_kernel(CudaFold fold, int64_t range, int64_t total)
{
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t number = index_quotient(i, fold.inner);
        int64_t at = i - number * fold.inner;
        for (int64_t n = 0; n < fold.count; n++) {
            int64_t row = fold.places[n];
            if (row >= number * range && row < (number + 1) * range) {
                ((T *)fold.to)[row * fold.inner + at] = ((const T *)fold.from)[n * fold.inner + at];
            }
        }
    }
}

template <typename T>
__global__ void
change_kernel(CudaFoldRule rule, CudaChange change, int64_t range, int64_t total)
{
    if (change.refused != nullptr && change.refused->turn != 0) {
        return;
    }
    const CudaFold &fold = change.fold;
    T *to = (T *)fold.to;
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t number = index_quotient(i, fold.inner);
        int64_t at = i - number * fold.inner;
        for (int64_t n = 0; n < fold.count; n++) {
            int64_t row = fold.places[n];
            if (row >= number * range && row < (number + 1) * range) {
                int64_t source = change.is_scalar ? 0 : n * fold.inner + at;
                auto value = combine<Accumulator<T>>(
                    rule, load(to, row * fold.inner + at), load((const T *)fold.from, source));
                store(to, row * fold.inner + at, value);
            }
        }
    }
}

/* Returns how many rows a thread has. */
static int64_t
range_of(const CudaFold *fold)
{
    int64_t ranges = FOLD_THREADS / fold->inner;
    ranges = ranges < 1 ? 1 : ranges;
    return (fold->rows - 1) / ranges + 1;
}

static bool
is_idle(const CudaFold *fold)
{
    return fold->count == 0 || fold->rows == 0 || fold->inner == 0;
}

template <typename T>
static cudaError_t
fold(CudaFoldRule rule, const CudaFold *fold, cudaStream_t stream)
{
    int64_t range = range_of(fold);
    int64_t total = ((fold->rows - 1) / range + 1) * fold->inner;
    return cuda_launch(
        fold_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0, stream, rule, *fold, range, total);
}

template <typename T>
static cudaError_t
fold_last(const CudaFold *fold, cudaStream_t stream)
{
    int64_t range = range_of(fold);
    int64_t total = ((fold->rows - 1) / range + 1) * fold->inner;
    return cuda_launch(
        fold_last_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0, stream, *fold, range, total);
}

template <typename T>
static cudaError_t
change(CudaFoldRule rule, const CudaChange *change, cudaStream_t stream)
{
    int64_t range = range_of(&change->fold);
    int64_t total = ((change->fold.rows - 1) / range + 1) * change->fold.inner;
    return cuda_launch(
        change_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0, stream, rule, *change, range, total);
}

/* Returns the slice that stands at a position, or -1: its number is refused. */
__device__ __forceinline__ int64_t
slice_at(const CudaSegments &segments, const CudaBlame &blame, int64_t position)
{
    int64_t row = position;
    if (segments.rows.data != nullptr) {
        bool is_read = load_integer(segments.rows.type, segments.rows.data, position, &row);
        if (!is_read || row < 0 || row >= segments.row_count) {
            refuse(blame, position, row, segments.row_count);
            return -1;
        }
    }
    return row;
}

template <typename W>
__device__ __forceinline__ W
divide(const CudaSegments &segments, W sum, int64_t count)
{
    double divisor = segments.has_root ? sqrt((double)count) : (double)count;
    return segments.has_root || segments.has_mean ? (W)(sum / (W)divisor) : sum;
}

template <typename T>
__global__ void
segments_kernel(CudaFoldRule rule, CudaSegments segments, CudaBlame blame, int64_t width, int64_t total)
{
    using W = typename WideOf<T>::Type;
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t segment = index_quotient(i, width);
        int64_t begin = segments.begins[segment];
        int64_t end = segments.begins[segment + 1];
        W sum = segments.inner == 0 ? W(0) : ((const W *)segments.to)[i];
        for (int64_t position = begin; position < end; position++) {
            int64_t row = slice_at(segments, blame, position);
            if (row >= 0 && segments.inner > 0) {
                W value = W(load((const T *)segments.from, row * width + (i - segment * width)));
                sum = combine(rule, sum, value);
            }
        }
        if (segments.inner > 0) {
            ((W *)segments.to)[i] = begin == end ? W(segments.empty) : divide(segments, sum, end - begin);
        }
    }
}

/* A slice without elements still has a number to check. */
template <typename T>
static cudaError_t
fold_segments(CudaFoldRule rule, const CudaSegments *segments, const CudaBlame *blame, cudaStream_t stream)
{
    int64_t width = segments->inner > 0 ? segments->inner : 1;
    int64_t total = segments->count * width;
    return cuda_launch(segments_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0, stream, rule, *segments,
        *blame, width, total);
}

extern "C" int
cuda_find_places(const CudaPlaces *places, const CudaBlame *blame, cudaStream_t stream)
{
    return places->count == 0 ? (int)cudaSuccess
                              : (int)cuda_launch(places_kernel, index_grid(places->count),
                                    dim3(INDEX_THREADS), 0, stream, *places, *blame);
}

extern "C" int
cuda_fold(CudaType type, CudaFoldRule rule, const CudaFold *folded, cudaStream_t stream)
{
    if (is_idle(folded)) {
        return (int)cudaSuccess;
    }
    EACH_REAL_TYPE(type, fold<T>(rule, folded, stream));
}

extern "C" int
cuda_fold_last(size_t element_size, const CudaFold *folded, cudaStream_t stream)
{
    if (is_idle(folded)) {
        return (int)cudaSuccess;
    }
    EACH_ELEMENT_SIZE(element_size, fold_last<T>(folded, stream));
}

extern "C" int
cuda_fold_segments(CudaType type, CudaFoldRule rule, const CudaSegments *segments, const CudaBlame *blame,
    cudaStream_t stream)
{
    if (segments->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_REAL_TYPE(type, fold_segments<T>(rule, segments, blame, stream));
}

extern "C" int
cuda_change(CudaType type, CudaFoldRule rule, const CudaChange *changed, cudaStream_t stream)
{
    if (is_idle(&changed->fold)) {
        return (int)cudaSuccess;
    }
    EACH_REAL_TYPE(type, change<T>(rule, changed, stream));
}
