#include "worker/cuda/kernels/count.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

/* Up to this number of bins each block counts on its own, and its threads do not wait for those of others. */
static constexpr int64_t BLOCK_BINS_MAX = 1024;

/* Returns -1 for an integer that no place can be. */
__device__ __forceinline__ int64_t
read_place(const CudaPermutation &permutation, int64_t n)
{
    int64_t place = 0;
    bool is_read = load_integer(permutation.places.type, permutation.places.data, n, &place);
    return is_read ? place : -1;
}

/* The earliest element has the place, whatever the order of the threads is. */
__global__ void
find_firsts_kernel(CudaPermutation permutation)
{
    for (int64_t n = index_first(); n < permutation.count; n += index_step()) {
        int64_t place = read_place(permutation, n);
        if (place >= 0 && place < permutation.count) {
            atomicMin((unsigned long long *)permutation.firsts + place, (unsigned long long)n);
        }
    }
}

template <typename T>
__global__ void
invert_kernel(CudaPermutation permutation, CudaBlame blame)
{
    for (int64_t n = index_first(); n < permutation.count; n += index_step()) {
        int64_t place = read_place(permutation, n);
        if (place < 0 || place >= permutation.count || permutation.firsts[place] != n) {
            refuse(blame, n, place, permutation.count);
        } else {
            ((T *)permutation.inverse)[place] = (T)n;
        }
    }
}

template <typename T>
static cudaError_t
invert(const CudaPermutation *permutation, const CudaBlame *blame, cudaStream_t stream)
{
    size_t size = (size_t)permutation->count * sizeof *permutation->firsts;
    cudaError_t error = cudaMemsetAsync(permutation->firsts, 0xff, size, stream);
    if (error == cudaSuccess) {
        error = cuda_launch(
            find_firsts_kernel, index_grid(permutation->count), dim3(INDEX_THREADS), 0, stream, *permutation);
    }
    return error != cudaSuccess ? error
                                : cuda_launch(invert_kernel<T>, index_grid(permutation->count),
                                      dim3(INDEX_THREADS), 0, stream, *permutation, *blame);
}

extern "C" int
cuda_invert(const CudaPermutation *permutation, const CudaBlame *blame, cudaStream_t stream)
{
    if (permutation->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_INTEGER_TYPE(permutation->places.type, invert<T>(permutation, blame, stream));
}

/* Returns the bin of a value; NaN counts for the first one. */
__device__ __forceinline__ int64_t
bin_of(double value, double lowest, double width, int64_t bin_count)
{
    double last = (double)(bin_count - 1);
    double bin = value > lowest ? (value - lowest) / width : 0;
    return (int64_t)(bin < last ? bin : last);
}

/* `B` counts. */
template <typename T, typename B>
__global__ void
histogram_kernel(CudaHistogram histogram, CudaBlame blame)
{
    __shared__ unsigned long long counts[BLOCK_BINS_MAX];
    bool is_shared = histogram.bin_count <= BLOCK_BINS_MAX;
    double lowest = (double)load((const T *)histogram.ends, 0);
    double highest = (double)load((const T *)histogram.ends, 1);
    double width = (highest - lowest) / (double)histogram.bin_count;
    if (!(lowest < highest)) {
        refuse_numbers(blame, 0, highest, lowest);
        return;
    }
    for (int64_t bin = threadIdx.x; is_shared && bin < histogram.bin_count; bin += INDEX_THREADS) {
        counts[bin] = 0;
    }
    __syncthreads();
    for (int64_t n = index_first(); n < histogram.count; n += index_step()) {
        int64_t bin =
            bin_of((double)load((const T *)histogram.values, n), lowest, width, histogram.bin_count);
        if (is_shared) {
            atomicAdd(&counts[bin], 1ULL);
        } else {
            atomicAdd((B *)histogram.bins + bin, (B)1);
        }
    }
    __syncthreads();
    for (int64_t bin = threadIdx.x; is_shared && bin < histogram.bin_count; bin += INDEX_THREADS) {
        if (counts[bin] != 0) {
            atomicAdd((B *)histogram.bins + bin, (B)counts[bin]);
        }
    }
}

/* Without values one block looks at the ends. */
template <typename T>
static cudaError_t
count_values(const CudaHistogram *histogram, const CudaBlame *blame, cudaStream_t stream)
{
    dim3 grid = index_grid(histogram->count == 0 ? 1 : histogram->count);
    return histogram->is_wide ? cuda_launch(histogram_kernel<T, unsigned long long>, grid,
                                    dim3(INDEX_THREADS), 0, stream, *histogram, *blame)
                              : cuda_launch(histogram_kernel<T, unsigned>, grid, dim3(INDEX_THREADS), 0,
                                    stream, *histogram, *blame);
}

extern "C" int
cuda_histogram(CudaType type, const CudaHistogram *histogram, const CudaBlame *blame, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, count_values<T>(histogram, blame, stream));
}
