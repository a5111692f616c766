/* A thread takes a pair, or an element that is not rotated. */
#include "worker/cuda/kernels/rotary.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/index.cuh"

/* Returns the row of a token's angles; one that is not there is refused. */
__device__ __forceinline__ int64_t
angles_of(const CudaRotary &rotary, int64_t token)
{
    int64_t row = rotary.positions == nullptr ? token : rotary.positions[token];
    if (row >= 0 && row < rotary.rows) {
        return row;
    }
    refuse(rotary.blame, token, row, rotary.rows);
    return -1;
}

/* Returns where the vector of a token and a head begins. */
__device__ __forceinline__ int64_t
vector_of(const CudaRotary &rotary, int64_t token, int64_t head)
{
    int64_t batch = index_quotient(token, rotary.length);
    int64_t row = rotary.is_packed
                      ? token * rotary.heads + head
                      : (batch * rotary.heads + head) * rotary.length + token - batch * rotary.length;
    return row * rotary.size;
}

template <typename T>
__device__ __forceinline__ void
rotate_pair(const CudaRotary &rotary, int64_t vector, int64_t row, int64_t pair)
{
    using C = Accumulator<T>;
    int64_t first = vector + pair * (rotary.is_interleaved ? 2 : 1);
    int64_t second = first + (rotary.is_interleaved ? 1 : rotary.pairs);
    C a = load((const T *)rotary.input, first);
    C b = load((const T *)rotary.input, second);
    C cosine = row < 0 ? (C)0 : load((const T *)rotary.cosines, row * rotary.pairs + pair);
    C sine = row < 0 ? (C)0 : load((const T *)rotary.sines, row * rotary.pairs + pair);
    store((T *)rotary.output, first, a * cosine - b * sine);
    store((T *)rotary.output, second, a * sine + b * cosine);
}

template <typename T>
__global__ void
rotate_kernel(const CudaRotary rotary, int64_t works)
{
    int64_t count = rotary.tokens * rotary.heads * works;
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t number = index_quotient(i, works);
        int64_t work = i - number * works;
        int64_t token = index_quotient(number, rotary.heads);
        int64_t vector = vector_of(rotary, token, number - token * rotary.heads);
        if (work < rotary.pairs) {
            rotate_pair<T>(rotary, vector, angles_of(rotary, token), work);
        } else {
            int64_t at = vector + work + rotary.pairs;
            ((T *)rotary.output)[at] = ((const T *)rotary.input)[at];
        }
    }
}

template <typename T>
static cudaError_t
rotate(const CudaRotary *rotary, cudaStream_t stream)
{
    int64_t works = rotary->size - rotary->pairs;
    int64_t count = rotary->tokens * rotary->heads * works;
    return count == 0 ? cudaSuccess
                      : cuda_launch(rotate_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                            *rotary, works);
}

extern "C" int
cuda_rotate(CudaType type, const CudaRotary *rotary, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, rotate<T>(rotary, stream));
}
