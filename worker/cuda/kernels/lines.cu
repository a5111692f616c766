#include "worker/cuda/kernels/lines.h"

#include <cfloat>

#include "worker/cuda/kernels/index.cuh"

enum { LINE_THREADS = 256 };
static constexpr int64_t LINE_BLOCKS_MAX = 1 << 20; /* each takes every n-th line */

static dim3
line_grid(const CudaAlong &lines)
{
    int64_t count = lines.outer * lines.inner;
    return dim3((unsigned)(count < LINE_BLOCKS_MAX ? count : LINE_BLOCKS_MAX));
}

/* Returns the position of a line's first element. */
__device__ __forceinline__ int64_t
line_start(const CudaAlong &lines, int64_t line)
{
    int64_t outer = index_quotient(line, lines.inner);
    return outer * lines.size * lines.inner + (line - outer * lines.inner);
}

template <typename C>
__device__ __forceinline__ C
join_running(bool is_product, C a, C b)
{
    return is_product ? a * b : a + b;
}

/* Gives each thread of the block what it and all before it join to. */
template <typename C>
__device__ __forceinline__ C
scan_block(C *parts, bool is_product, C value)
{
    int thread = (int)threadIdx.x;
    parts[thread] = value;
    __syncthreads();
    for (int by = 1; by < LINE_THREADS; by *= 2) {
        C before = thread >= by ? parts[thread - by] : value;
        __syncthreads();
        value = thread >= by ? join_running(is_product, before, value) : value;
        parts[thread] = value;
        __syncthreads();
    }
    return value;
}

/* A block takes a line, part by part, each as long as it has threads. */
template <typename T, typename C>
__global__ void
running_kernel(CudaRunning running)
{
    __shared__ C parts[LINE_THREADS];
    const CudaAlong &lines = running.lines;
    C none = running.is_product ? C(1) : C(0);
    for (int64_t line = blockIdx.x; line < lines.outer * lines.inner; line += gridDim.x) {
        int64_t start = line_start(lines, line);
        C carried = none;
        for (int64_t first = 0; first < lines.size; first += LINE_THREADS) {
            int64_t n = first + threadIdx.x;
            int64_t at = start + (running.is_reverse ? lines.size - 1 - n : n) * lines.inner;
            bool is_within = n < lines.size;
            C value = is_within ? (C)(load((const T *)lines.input, at)) : none;
            C joined = scan_block(parts, running.is_product, value);
            C before = threadIdx.x == 0 ? none : parts[threadIdx.x - 1];
            C result = join_running(running.is_product, carried, running.is_exclusive ? before : joined);
            carried = join_running(running.is_product, carried, parts[LINE_THREADS - 1]);
            if (is_within) {
                store((T *)lines.output, at, result);
            }
            __syncthreads(); /* the next part writes `parts` again */
        }
    }
}

template <typename T, typename C>
static cudaError_t
run_lines(const CudaRunning *running, cudaStream_t stream)
{
    const CudaAlong &lines = running->lines;
    return lines.outer * lines.size * lines.inner == 0
               ? cudaSuccess
               : cuda_launch(running_kernel<T, C>, line_grid(lines), dim3(LINE_THREADS), 0, stream, *running);
}

extern "C" int
cuda_running(CudaType type, const CudaRunning *running, cudaStream_t stream)
{
    TYPE_SWITCH(type, FLOATING_CASES((run_lines<T, double>(running, stream)))
                          SIGNED_CASES((run_lines<T, uint64_t>(running, stream)))
                              UNSIGNED_CASES((run_lines<T, uint64_t>(running, stream))))
}

template <typename T>
__device__ __forceinline__ Accumulator<T>
most_finite()
{
    return Accumulator<T>();
}
template <>
__device__ __forceinline__ float
most_finite<__half>()
{
    return 65504.0F;
}
template <>
__device__ __forceinline__ float
most_finite<__nv_bfloat16>()
{
    return 0x1.FEp127F;
}
template <>
__device__ __forceinline__ float
most_finite<float>()
{
    return FLT_MAX;
}
template <>
__device__ __forceinline__ double
most_finite<double>()
{
    return DBL_MAX;
}

/* Reads an element as it is compared. */
template <typename T>
__device__ __forceinline__ Accumulator<T>
load_compared(const CudaExtremes &extremes, int64_t start, int64_t n)
{
    Accumulator<T> value = load((const T *)extremes.lines.input, start + n * extremes.lines.inner);
    if constexpr (is_floating<T>()) {
        if (!extremes.nan_is_beyond) {
            Accumulator<T> end = extremes.is_largest ? -most_finite<T>() : most_finite<T>();
            return (extremes.is_largest ? value > end : value < end) ? value : end;
        }
    }
    return value;
}

/* Returns which of two elements of a line counts. */
template <typename T>
__device__ __forceinline__ int64_t
choose_extreme(const CudaExtremes &extremes, int64_t start, int64_t left, int64_t right)
{
    if (left < 0 || right < 0) {
        return left < 0 ? right : left;
    }
    Accumulator<T> a = load_compared<T>(extremes, start, left);
    Accumulator<T> b = load_compared<T>(extremes, start, right);
    bool is_left = (extremes.is_largest ? a > b : a < b) || (a != a && b == b);
    bool is_right = (extremes.is_largest ? b > a : b < a) || (b != b && a == a);
    if (is_left || is_right) {
        return is_left ? left : right;
    }
    return (left < right) != extremes.is_last ? left : right;
}

template <typename T>
__global__ void
extremes_kernel(CudaExtremes extremes)
{
    __shared__ int64_t found[LINE_THREADS];
    const CudaAlong &lines = extremes.lines;
    int thread = (int)threadIdx.x;
    for (int64_t line = blockIdx.x; line < lines.outer * lines.inner; line += gridDim.x) {
        int64_t start = line_start(lines, line);
        int64_t best = -1;
        for (int64_t n = thread; n < lines.size; n += LINE_THREADS) {
            best = choose_extreme<T>(extremes, start, best, n);
        }
        found[thread] = best;
        __syncthreads();
        for (int apart = LINE_THREADS / 2; apart > 0; apart /= 2) {
            if (thread < apart) {
                found[thread] = choose_extreme<T>(extremes, start, found[thread], found[thread + apart]);
            }
            __syncthreads();
        }
        if (thread == 0 && extremes.is_wide) {
            ((int64_t *)lines.output)[line] = found[0] < 0 ? 0 : found[0];
        } else if (thread == 0) {
            ((int32_t *)lines.output)[line] = (int32_t)(found[0] < 0 ? 0 : found[0]);
        }
        __syncthreads(); /* the next line writes `found` again */
    }
}

template <typename T>
static cudaError_t
find_extremes(const CudaExtremes *extremes, cudaStream_t stream)
{
    const CudaAlong &lines = extremes->lines;
    return lines.outer * lines.inner == 0
               ? cudaSuccess
               : cuda_launch(extremes_kernel<T>, line_grid(lines), dim3(LINE_THREADS), 0, stream, *extremes);
}

extern "C" int
cuda_extremes(CudaType type, const CudaExtremes *extremes, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, find_extremes<T>(extremes, stream));
}
