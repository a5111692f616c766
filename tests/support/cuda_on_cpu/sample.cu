#include "tests/support/cuda_on_cpu/sample.h"

#include "worker/cuda/kernels/launch.cuh"

enum { THREADS = 256 };

static dim3
blocks_for(int64_t count)
{
    return dim3(static_cast<unsigned>((count + THREADS - 1) / THREADS));
}

static __global__ void
scale_kernel(int64_t count, float factor, const float *in, float *out)
{
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = in[i] * factor;
    }
}

static __global__ void
reverse_kernel(bool has_barrier, const float *in, float *out)
{
    DYNAMIC_SHARED(float, row);
    const float *from = in + static_cast<int64_t>(blockIdx.x) * THREADS;
    float *to = out + static_cast<int64_t>(blockIdx.x) * THREADS;
    row[threadIdx.x] = from[threadIdx.x];
    if (has_barrier) {
        __syncthreads();
    }
    to[threadIdx.x] = row[THREADS - 1 - threadIdx.x];
}

static __global__ void
sum_rows_kernel(const float *in, float *out)
{
    __shared__ float parts[THREADS / 32];
    float value = in[static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x];
    for (int by = 16; by > 0; by /= 2) {
        value += __shfl_xor_sync(0xffffffffU, value, by);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (float part : parts) {
            sum += part;
        }
        out[blockIdx.x] = sum;
    }
}

static __global__ void
hang_kernel()
{
    if (threadIdx.x % 2 == 0) {
        __syncthreads();
    }
}

cudaError_t
sample_scale(int64_t count, float factor, const float *in, float *out, cudaStream_t stream)
{
    return cuda_launch(scale_kernel, blocks_for(count), dim3(THREADS), 0, stream, count, factor, in, out);
}

cudaError_t
sample_reverse(int64_t count, bool has_barrier, const float *in, float *out, cudaStream_t stream)
{
    return cuda_launch(reverse_kernel, blocks_for(count), dim3(THREADS), THREADS * sizeof(float), stream,
        has_barrier, in, out);
}

cudaError_t
sample_sum_rows(int64_t rows, const float *in, float *out, cudaStream_t stream)
{
    return cuda_launch(sum_rows_kernel, dim3(static_cast<unsigned>(rows)), dim3(THREADS), 0, stream, in, out);
}

cudaError_t
sample_hang(cudaStream_t stream)
{
    return cuda_launch(hang_kernel, dim3(3), dim3(64), 0, stream);
}
