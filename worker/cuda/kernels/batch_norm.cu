/* A channel is folded in two steps: blocks fold its chunks by one tree each, a thread adds up what they
 * found. The mean comes first, then the squares of the distances from it: nothing cancels. */
#include "worker/cuda/kernels/batch_norm.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

/* Neighbouring threads take neighbouring channels where these are neighbours in memory. */
enum { FOLD_THREADS = 256, CHANNELS_ABREAST = 32 };

template <typename C> struct Pair {
    C first;
    C second;
};

template <typename C>
__device__ __forceinline__ Pair<C>
add_pairs(const Pair<C> &left, const Pair<C> &right)
{
    return {left.first + right.first, left.second + right.second};
}

/* The pairs that are noted for a channel: its mean and the factor of its elements, and of the gradient the
 * means. */
template <typename C> struct Noted {
    Pair<C> *chunks;
    Pair<C> *normal;
    Pair<C> *means;
};

template <typename C>
static Noted<C>
noted_of(const CudaBatchNotes &notes, const CudaChannels &channels)
{
    Pair<C> *normal = (Pair<C> *)notes.channels;
    return {(Pair<C> *)notes.chunks, normal, normal + channels.size};
}

/* Rules: what of an element is folded. */
template <typename T> struct Elements {
    const T *input;

    __device__ __forceinline__ Pair<Accumulator<T>>
    operator()(int64_t at, int64_t channel) const
    {
        (void)channel;
        return {load(input, at), 0};
    }
};

template <typename T> struct Distances {
    const T *input;
    const Pair<Accumulator<T>> *normal;

    __device__ __forceinline__ Pair<Accumulator<T>>
    operator()(int64_t at, int64_t channel) const
    {
        Accumulator<T> distance = load(input, at) - normal[channel].first;
        return {distance * distance, 0};
    }
};

/* Gradients, and their products with the normalised elements. */
template <typename T> struct Products {
    const T *input;
    const T *gradients;
    const Pair<Accumulator<T>> *normal;

    __device__ __forceinline__ Pair<Accumulator<T>>
    operator()(int64_t at, int64_t channel) const
    {
        Pair<Accumulator<T>> own = normal[channel];
        Accumulator<T> gradient = load(gradients, at);
        return {gradient, gradient * (load(input, at) - own.first) * own.second};
    }
};

template <typename C, int ABREAST, typename Rule>
__global__ void
fold_kernel(CudaChannels channels, Rule rule, Pair<C> *chunks)
{
    __shared__ Pair<C> sums[FOLD_THREADS];
    int thread = (int)threadIdx.x;
    int64_t channel = (int64_t)blockIdx.x * ABREAST + thread % ABREAST;
    int64_t count = channels.outer * channels.inner;
    int64_t size = (count + gridDim.y - 1) / gridDim.y;
    int64_t first = blockIdx.y * size;
    int64_t end = first + size < count ? first + size : count;
    Pair<C> sum = {0, 0};
    for (int64_t n = first + thread / ABREAST; n < end && channel < channels.size;
         n += FOLD_THREADS / ABREAST) {
        int64_t outer = index_quotient(n, channels.inner);
        int64_t at = (outer * channels.size + channel) * channels.inner + (n - outer * channels.inner);
        sum = add_pairs(sum, rule(at, channel));
    }
    sums[thread] = sum;
    for (int left = FOLD_THREADS / 2; left >= ABREAST; left /= 2) {
        __syncthreads();
        if (thread < left) {
            sums[thread] = add_pairs(sums[thread], sums[thread + left]);
        }
    }
    if (thread < ABREAST && channel < channels.size) {
        chunks[channel * gridDim.y + blockIdx.y] = sums[thread];
    }
}

template <typename C, typename Rule>
static cudaError_t
fold(const CudaChannels &channels, Rule rule, Pair<C> *chunks, cudaStream_t stream)
{
    bool is_abreast = channels.inner == 1;
    int64_t blocks = is_abreast ? (channels.size - 1) / CHANNELS_ABREAST + 1 : channels.size;
    void (*kernel)(CudaChannels, Rule, Pair<C> *) =
        is_abreast ? fold_kernel<C, CHANNELS_ABREAST, Rule> : fold_kernel<C, 1, Rule>;
    dim3 grid((unsigned)blocks, (unsigned)cuda_batch_chunks(&channels));
    return cuda_launch(kernel, grid, dim3(FOLD_THREADS), 0, stream, channels, rule, chunks);
}

template <typename C>
__device__ __forceinline__ Pair<C>
add_chunks(const Pair<C> *chunks, int64_t channel, int64_t count)
{
    Pair<C> sum = {0, 0};
    for (int64_t chunk = 0; chunk < count; chunk++) {
        sum = add_pairs(sum, chunks[channel * count + chunk]);
    }
    return sum;
}

template <typename C>
__global__ void
mean_kernel(CudaChannels channels, int64_t chunk_count, Noted<C> noted)
{
    for (int64_t channel = index_first(); channel < channels.size; channel += index_step()) {
        noted.normal[channel].first =
            add_chunks(noted.chunks, channel, chunk_count).first / (C)(channels.outer * channels.inner);
    }
}

/* The running statistics are averages of the given ones and the batch's, whose variance counts unbiased. */
template <typename S, typename C>
__device__ __forceinline__ void
store_running(const CudaBatchNorm &norm, int64_t channel, C mean, C variance)
{
    C count = (C)(norm.channels.outer * norm.channels.inner);
    C factor = (C)norm.average_factor;
    variance = norm.is_training && count > 1 ? variance * (count / (count - 1)) : variance;
    if (norm.is_training && norm.average_factor != 1) {
        mean = (1 - factor) * (C)load((const S *)norm.given_mean, channel) + factor * mean;
        variance = (1 - factor) * (C)load((const S *)norm.given_variance, channel) + factor * variance;
    }
    store((S *)norm.running_mean, channel, mean);
    store((S *)norm.running_variance, channel, variance);
}

template <typename S, typename C>
__global__ void
statistics_kernel(CudaBatchNorm norm, int64_t chunk_count, Noted<C> noted)
{
    C count = (C)(norm.channels.outer * norm.channels.inner);
    for (int64_t channel = index_first(); channel < norm.channels.size; channel += index_step()) {
        C mean =
            norm.is_training ? noted.normal[channel].first : (C)load((const S *)norm.given_mean, channel);
        C variance = norm.is_training ? add_chunks(noted.chunks, channel, chunk_count).first / count
                                      : (C)load((const S *)norm.given_variance, channel);
        C scale = load((const S *)norm.scale, channel);
        store_running<S>(norm, channel, mean, variance);
        store((S *)norm.batch_mean, channel, mean);
        store((S *)norm.batch_variance, channel, variance);
        noted.normal[channel] = {mean, scale / (C)sqrt(variance + (C)norm.epsilon)};
    }
}

template <typename T, typename S>
__global__ void
normalize_kernel(CudaBatchNorm norm, const Pair<Accumulator<T>> *normal, int64_t count)
{
    using C = Accumulator<T>;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        int64_t channel = index_quotient(at, norm.channels.inner) % norm.channels.size;
        Pair<C> own = normal[channel];
        C distance = load((const T *)norm.input, at) - own.first;
        store((T *)norm.output, at, distance * own.second + (C)load((const S *)norm.offset, channel));
    }
}

template <typename T, typename C>
static cudaError_t
find_statistics(const CudaBatchNorm &norm, const Noted<C> &noted, cudaStream_t stream)
{
    const CudaChannels &channels = norm.channels;
    const T *input = (const T *)norm.input;
    cudaError_t error = fold(channels, Elements<T>{input}, noted.chunks, stream);
    error = error != cudaSuccess ? error
                                 : cuda_launch(mean_kernel<C>, index_grid(channels.size), dim3(INDEX_THREADS),
                                       0, stream, channels, cuda_batch_chunks(&channels), noted);
    return error != cudaSuccess ? error
                                : fold(channels, Distances<T>{input, noted.normal}, noted.chunks, stream);
}

template <typename T, typename S>
static cudaError_t
normalize(const CudaBatchNorm &norm, cudaStream_t stream)
{
    using C = Accumulator<T>;
    const CudaChannels &channels = norm.channels;
    int64_t count = channels.outer * channels.size * channels.inner;
    Noted<C> noted = noted_of<C>(norm.notes, channels);
    cudaError_t error = norm.is_training ? find_statistics<T>(norm, noted, stream) : cudaSuccess;
    error = error != cudaSuccess
                ? error
                : cuda_launch(statistics_kernel<S, C>, index_grid(channels.size), dim3(INDEX_THREADS), 0,
                      stream, norm, cuda_batch_chunks(&channels), noted);
    return error != cudaSuccess || count == 0
               ? error
               : cuda_launch(normalize_kernel<T, S>, index_grid(count), dim3(INDEX_THREADS), 0, stream, norm,
                     noted.normal, count);
}

template <typename T>
static cudaError_t
normalize_batch(CudaType statistics, const CudaBatchNorm *norm, cudaStream_t stream)
{
    if (norm->channels.size == 0) {
        return cudaSuccess;
    }
    return statistics == CUDA_FLOAT32 ? normalize<T, float>(*norm, stream) : normalize<T, T>(*norm, stream);
}

extern "C" int
cuda_batch_norm(CudaType type, CudaType statistics, const CudaBatchNorm *norm, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, normalize_batch<T>(statistics, norm, stream));
}

template <typename S, typename C>
__global__ void
note_normal_kernel(CudaBatchNormGradient gradient, Noted<C> noted)
{
    for (int64_t channel = index_first(); channel < gradient.channels.size; channel += index_step()) {
        C variance = (C)load((const S *)gradient.variance, channel) + (C)gradient.epsilon;
        noted.normal[channel] = {(C)load((const S *)gradient.mean, channel), 1 / (C)sqrt(variance)};
    }
}

/* Statistics that were given do not depend on the batch: its means do not count then. */
template <typename S, typename C>
__global__ void
sums_kernel(CudaBatchNormGradient gradient, int64_t chunk_count, Noted<C> noted)
{
    C count = gradient.is_training ? (C)(gradient.channels.outer * gradient.channels.inner) : (C)INFINITY;
    for (int64_t channel = index_first(); channel < gradient.channels.size; channel += index_step()) {
        Pair<C> sums = add_chunks(noted.chunks, channel, chunk_count);
        store((S *)gradient.offset_gradients, channel, sums.first);
        store((S *)gradient.scale_gradients, channel, sums.second);
        noted.means[channel] = {sums.first / count, sums.second / count};
    }
}

template <typename T, typename S>
__global__ void
spread_kernel(CudaBatchNormGradient gradient, Noted<Accumulator<T>> noted, int64_t count)
{
    using C = Accumulator<T>;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        int64_t channel = index_quotient(at, gradient.channels.inner) % gradient.channels.size;
        Pair<C> own = noted.normal[channel];
        Pair<C> means = noted.means[channel];
        C normal = (load((const T *)gradient.input, at) - own.first) * own.second;
        C rest = load((const T *)gradient.gradients, at) - means.first - normal * means.second;
        store((T *)gradient.input_gradients, at,
            (C)load((const S *)gradient.scale, channel) * own.second * rest);
    }
}

template <typename T, typename S>
static cudaError_t
spread(const CudaBatchNormGradient &gradient, cudaStream_t stream)
{
    using C = Accumulator<T>;
    const CudaChannels &channels = gradient.channels;
    int64_t count = channels.outer * channels.size * channels.inner;
    Noted<C> noted = noted_of<C>(gradient.notes, channels);
    Products<T> products = {(const T *)gradient.input, (const T *)gradient.gradients, noted.normal};
    dim3 grid = index_grid(channels.size);
    cudaError_t error =
        cuda_launch(note_normal_kernel<S, C>, grid, dim3(INDEX_THREADS), 0, stream, gradient, noted);
    error = error != cudaSuccess ? error : fold(channels, products, noted.chunks, stream);
    error = error != cudaSuccess ? error
                                 : cuda_launch(sums_kernel<S, C>, grid, dim3(INDEX_THREADS), 0, stream,
                                       gradient, cuda_batch_chunks(&channels), noted);
    return error != cudaSuccess || count == 0 ? error
                                              : cuda_launch(spread_kernel<T, S>, index_grid(count),
                                                    dim3(INDEX_THREADS), 0, stream, gradient, noted, count);
}

template <typename T>
static cudaError_t
spread_batch(CudaType statistics, const CudaBatchNormGradient *gradient, cudaStream_t stream)
{
    if (gradient->channels.size == 0) {
        return cudaSuccess;
    }
    return statistics == CUDA_FLOAT32 ? spread<T, float>(*gradient, stream) : spread<T, T>(*gradient, stream);
}

extern "C" int
cuda_batch_norm_gradient(
    CudaType type, CudaType statistics, const CudaBatchNormGradient *gradient, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, spread_batch<T>(statistics, gradient, stream));
}
