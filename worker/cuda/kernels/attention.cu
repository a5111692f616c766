#include "worker/cuda/kernels/attention.h"

#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/softmax.cuh"

enum { SCORES_THREADS = 256 }; /* as many as the softmax kernel has: they shape its sums */
static constexpr int64_t SCORES_BLOCKS_MAX = 1 << 20;

/* Returns the number as it is when it has been stored. */
template <typename T, typename C>
__device__ __forceinline__ C
rounded(C value)
{
    T stored;
    store(&stored, 0, value);
    return load(&stored, 0);
}

template <typename C>
__device__ __forceinline__ C
apply_step(CudaScoresStep step, C score, C operand)
{
    switch (step) {
    case CUDA_SCORES_ADD:
        return score + operand;
    case CUDA_SCORES_DIVIDE:
        return score / operand;
    case CUDA_SCORES_MULTIPLY:
        return score * operand;
    default:
        return score - operand;
    }
}

/* Returns whether the mask of a step is true here. */
__device__ __forceinline__ bool
mask_at(const CudaScores &scores, int step, const int64_t *offsets, int64_t column)
{
    int source = 1 + CUDA_SCORES_STEPS_MAX + step;
    return ((const uint8_t *)
                   scores.sources[source])[offsets[source] + column * scores.column_strides[source]] != 0;
}

/* Returns what step `step` makes of a score; one that chooses rounds nothing. */
template <typename T, typename C>
__device__ __forceinline__ C
step_at(const CudaScores &scores, int step, const int64_t *offsets, int64_t column, C score)
{
    CudaScoresStep kind = scores.steps[step];
    C operand = load(
        (const T *)scores.sources[step + 1], offsets[step + 1] + column * scores.column_strides[step + 1]);
    if (kind == CUDA_SCORES_KEEP || kind == CUDA_SCORES_REPLACE) {
        return mask_at(scores, step, offsets, column) == (kind == CUDA_SCORES_KEEP) ? score : operand;
    }
    return rounded<T>(apply_step(kind, score, operand));
}

/* A thread writes and reads scores of its own only. */
template <typename T, typename C>
__global__ void
scores_kernel(const CudaScores scores)
{
    for (int64_t line = blockIdx.x; line < scores.lines; line += gridDim.x) {
        int64_t offsets[CUDA_SCORES_SOURCES] = {};
        index_offsets<CUDA_SCORES_SOURCES>(line, scores.rank, scores.sizes, scores.strides, offsets);
        T *output = (T *)scores.output + line * scores.columns;
        for (int64_t i = threadIdx.x; i < scores.columns; i += blockDim.x) {
            C score = load((const T *)scores.sources[0], offsets[0] + i * scores.column_strides[0]);
#pragma unroll
            for (int step = 0; step < CUDA_SCORES_STEPS_MAX; step++) {
                if (step < scores.step_count) {
                    score = step_at<T>(scores, step, offsets, i, score);
                }
            }
            store(output, i, score);
        }
        softmax_line<T, C>(output, output, scores.columns, 1, false);
    }
}

template <typename T>
static cudaError_t
launch_scores(const CudaScores *scores, cudaStream_t stream)
{
    if (scores->lines == 0 || scores->columns == 0) {
        return cudaSuccess;
    }
    dim3 grid((unsigned)(scores->lines < SCORES_BLOCKS_MAX ? scores->lines : SCORES_BLOCKS_MAX));
    return cuda_launch(scores_kernel<T, Accumulator<T>>, grid, dim3(SCORES_THREADS), 0, stream, *scores);
}

extern "C" int
cuda_scores(CudaType type, const CudaScores *scores, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, launch_scores<T>(scores, stream));
}
