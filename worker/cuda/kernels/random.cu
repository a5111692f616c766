/* A thread draws a group of numbers: those of one counter, or, where numbers are drawn again, of those from
 * one counter on. */
#include "worker/cuda/kernels/random.h"

#include <cmath>

#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/philox.cuh"

/* A group of T that begins at element `first`; what lies behind the end is dropped. */
template <typename T> struct Group {
    using C = Accumulator<T>;
    T *output;
    int64_t first;
    int64_t count;

    __device__ __forceinline__ void
    put(int n, C value) const
    {
        if (first + n < count) {
            store(output, first + n, value);
        }
    }
};

template <typename T>
__host__ __device__ constexpr int
group_size()
{
    return sizeof(T) == sizeof(double) ? 2 : 4;
}

template <typename T> struct Uniform {
    static __device__ __forceinline__ void
    draw(const CudaPhilox &start, uint64_t counter, const Group<T> &group)
    {
        Words words = philox_words(start, counter);
        if constexpr (group_size<T>() == 2) {
            group.put(0, uniform_of_two(words.word[0], words.word[1]));
            group.put(1, uniform_of_two(words.word[2], words.word[3]));
        } else {
            for (int n = 0; n < 4; n++) {
                group.put(n, uniform_of<T>(words.word[n]));
            }
        }
    }
};

template <typename T> struct Normal {
    static __device__ __forceinline__ void
    draw(const CudaPhilox &start, uint64_t counter, const Group<T> &group)
    {
        Words words = philox_words(start, counter);
        if constexpr (group_size<T>() == 2) {
            Normals<double> normals = normals_of_four(words);
            group.put(0, normals.first);
            group.put(1, normals.second);
        } else {
            for (int n = 0; n < 4; n += 2) {
                Normals<float> normals = normals_of(words.word[n], words.word[n + 1]);
                group.put(n, normals.first);
                group.put(n + 1, normals.second);
            }
        }
    }
};

/* Draws pairs until the group is full. */
template <typename T> struct Truncated {
    template <typename C>
    static __device__ __forceinline__ int
    keep(const Group<T> &group, int n, const Normals<C> &normals)
    {
        if (n < group_size<T>() && fabs(normals.first) < 2) {
            group.put(n++, normals.first);
        }
        if (n < group_size<T>() && fabs(normals.second) < 2) {
            group.put(n++, normals.second);
        }
        return n;
    }

    static __device__ __forceinline__ void
    draw(const CudaPhilox &start, uint64_t counter, const Group<T> &group)
    {
        for (int n = 0; n < group_size<T>(); counter++) {
            Words words = philox_words(start, counter);
            if constexpr (group_size<T>() == 2) {
                n = keep(group, n, normals_of_four(words));
            } else {
                n = keep(group, n, normals_of(words.word[0], words.word[1]));
                n = keep(group, n, normals_of(words.word[2], words.word[3]));
            }
        }
    }
};

template <typename Rule, typename T>
__global__ void
random_kernel(CudaRandom random, int64_t groups)
{
    for (int64_t n = index_first(); n < groups; n += index_step()) {
        Group<T> group = {(T *)random.output, n * group_size<T>(), random.count};
        Rule::draw(random.start, (uint64_t)(n * random.apart), group);
    }
}

template <typename T>
static cudaError_t
draw_numbers(CudaDistribution distribution, const CudaRandom *random, cudaStream_t stream)
{
    if (random->count == 0) {
        return cudaSuccess;
    }
    int64_t groups = (random->count - 1) / group_size<T>() + 1;
    void (*kernel)(CudaRandom, int64_t) = distribution == CUDA_RANDOM_UNIFORM ? random_kernel<Uniform<T>, T>
                                          : distribution == CUDA_RANDOM_NORMAL
                                              ? random_kernel<Normal<T>, T>
                                              : random_kernel<Truncated<T>, T>;
    return cuda_launch(kernel, index_grid(groups), dim3(INDEX_THREADS), 0, stream, *random, groups);
}

extern "C" int
cuda_random(CudaDistribution distribution, CudaType type, const CudaRandom *random, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, draw_numbers<T>(distribution, random, stream));
}

static __global__ void
integers_kernel(CudaRandomIntegers random, int64_t groups)
{
    for (int64_t n = index_first(); n < groups; n += index_step()) {
        Words words = philox_words(random.start, (uint64_t)n);
        for (int k = 0; k < 4; k++) {
            int64_t at = random.is_wide ? 2 * n + k / 2 : 4 * n + k;
            uint64_t word =
                random.is_wide ? words.word[k] | (uint64_t)words.word[k | 1] << 32 : words.word[k];
            uint64_t value = (uint64_t)random.minimum + word % random.range;
            if (random.is_wide && k % 2 == 0 && at < random.count) {
                ((uint64_t *)random.output)[at] = value;
            } else if (!random.is_wide && at < random.count) {
                ((uint32_t *)random.output)[at] = (uint32_t)value;
            }
        }
    }
}

extern "C" int
cuda_random_integers(const CudaRandomIntegers *random, cudaStream_t stream)
{
    if (random->count == 0) {
        return (int)cudaSuccess;
    }
    int64_t groups = (random->count - 1) / (random->is_wide ? 2 : 4) + 1;
    return (int)cuda_launch(
        integers_kernel, index_grid(groups), dim3(INDEX_THREADS), 0, stream, *random, groups);
}

enum { SHARE_THREADS = 256 };

struct LargestFinite {
    static __device__ __forceinline__ double
    none()
    {
        return -(double)INFINITY;
    }
    static __device__ __forceinline__ double
    join(double a, double b)
    {
        return a > b ? a : b;
    }
};

__device__ __forceinline__ bool
is_finite_logit(double logit)
{
    return fabs(logit) < (double)INFINITY;
}

/* A block takes a row. */
template <typename T>
__global__ void
shares_kernel(CudaClasses classes)
{
    for (int64_t row = blockIdx.x; row < classes.rows; row += gridDim.x) {
        int64_t first = row * classes.classes;
        double largest = LargestFinite::none();
        for (int64_t k = threadIdx.x; k < classes.classes; k += SHARE_THREADS) {
            double logit = (double)load((const T *)classes.logits, first + k);
            largest = is_finite_logit(logit) ? LargestFinite::join(largest, logit) : largest;
        }
        largest = block_join<LargestFinite>(largest);
        for (int64_t k = threadIdx.x; k < classes.classes; k += SHARE_THREADS) {
            double logit = (double)load((const T *)classes.logits, first + k);
            classes.sums[first + k] = is_finite_logit(logit) ? exp(logit - largest) : 0;
        }
    }
}

template <typename T>
static cudaError_t
make_shares(const CudaClasses *classes, cudaStream_t stream)
{
    int64_t blocks = classes->rows < INDEX_BLOCKS_MAX ? classes->rows : INDEX_BLOCKS_MAX;
    return blocks == 0 ? cudaSuccess
                       : cuda_launch(shares_kernel<T>, dim3((unsigned)blocks), dim3(SHARE_THREADS), 0, stream,
                             *classes);
}

extern "C" int
cuda_class_shares(CudaType type, const CudaClasses *classes, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, make_shares<T>(classes, stream));
}

/* Returns the first class whose sum is above `wanted`: sums never fall but by a rounding. */
__device__ __forceinline__ int64_t
choose_class(const double *sums, int64_t classes, double wanted)
{
    int64_t first = 0;
    int64_t end = classes;
    while (first < end) {
        int64_t middle = first + (end - first) / 2;
        if (sums[middle] <= wanted) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static __global__ void
classes_kernel(CudaClasses classes, int64_t count)
{
    for (int64_t n = index_first(); n < count; n += index_step()) {
        const double *sums = classes.sums + n / classes.samples * classes.classes;
        Words words = philox_words(classes.start, (uint64_t)(n / 2));
        double share = n % 2 == 0 ? uniform_of_two(words.word[0], words.word[1])
                                  : uniform_of_two(words.word[2], words.word[3]);
        int64_t chosen = choose_class(sums, classes.classes, share * sums[classes.classes - 1]);
        if (classes.is_wide) {
            ((int64_t *)classes.output)[n] = chosen;
        } else {
            ((int32_t *)classes.output)[n] = (int32_t)chosen;
        }
    }
}

extern "C" int
cuda_draw_classes(const CudaClasses *classes, cudaStream_t stream)
{
    int64_t count = classes->rows * classes->samples;
    return (int)(count == 0 ? cudaSuccess
                            : cuda_launch(classes_kernel, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                                  *classes, count));
}
