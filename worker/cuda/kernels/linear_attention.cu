/* Columns of a head's state know nothing of each other: a block takes COLUMNS of them through all tokens.
 * PARTS of its threads share a column, each the rows part, part + PARTS, …, so that an element of the state
 * has one thread that reads and writes it. */
#include "worker/cuda/kernels/linear_attention.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

enum { COLUMNS = 32, PARTS = 8 };

/* A thread's column of a head's state. */
template <typename T, typename C> struct StateColumn {
    const CudaLinearAttention &attention;
    C *first;
    int64_t column;
    bool is_inside; /* there is such a column */

    /* Adds the parts of a sum over rows, in their order, for all threads of the column. */
    static __device__ __forceinline__ C
    join(C part)
    {
        __shared__ C parts[PARTS][COLUMNS];
        C sum = 0;
        parts[threadIdx.y][threadIdx.x] = part;
        __syncthreads();
        for (int n = 0; n < PARTS; n++) {
            sum += parts[n][threadIdx.x];
        }
        __syncthreads(); /* the next call writes `parts` again */
        return sum;
    }

    /* Returns the products of a vector of a token with the rows. */
    __device__ __forceinline__ C
    find(const void *vectors, int64_t vector) const
    {
        C sum = 0;
        for (int64_t row = threadIdx.y; is_inside && row < attention.key_size; row += PARTS) {
            sum += load((const T *)vectors, vector * attention.key_size + row) *
                   first[row * attention.value_size];
        }
        return join(sum);
    }

    __device__ __forceinline__ void
    fade(int64_t vector) const
    {
        int64_t step = attention.decays_by_key ? attention.key_size : 1;
        for (int64_t row = threadIdx.y; is_inside && row < attention.key_size; row += PARTS) {
            C decay = load((const T *)attention.decay, vector * step + (attention.decays_by_key ? row : 0));
            first[row * attention.value_size] *= (C)exp(decay);
        }
    }

    __device__ __forceinline__ void
    write(int64_t token, int64_t vector) const
    {
        C written = is_inside ? load((const T *)attention.value, vector * attention.value_size + column) : 0;
        if (attention.beta != nullptr) {
            C found = find(attention.key, vector);
            C beta = load((const T *)attention.beta, attention.shares_beta ? token : vector);
            written = (written - found) * beta;
        }
        for (int64_t row = threadIdx.y; is_inside && row < attention.key_size; row += PARTS) {
            first[row * attention.value_size] +=
                load((const T *)attention.key, vector * attention.key_size + row) * written;
        }
    }

    __device__ __forceinline__ void
    read(int64_t vector) const
    {
        C sum = find(attention.query, vector);
        if (is_inside && threadIdx.y == 0) {
            store((T *)attention.output, vector * attention.value_size + column, sum * (C)attention.scale);
        }
    }
};

template <typename T, typename C>
__device__ __forceinline__ void
run_tokens(const StateColumn<T, C> &state, int64_t batch, int64_t head)
{
    const CudaLinearAttention &attention = state.attention;
    int64_t group = attention.query_heads / attention.key_heads;
    for (int64_t token = batch * attention.length; token < (batch + 1) * attention.length; token++) {
        int64_t vector = token * attention.key_heads + head;
        if (attention.decay != nullptr) {
            state.fade(vector);
        }
        state.write(token, vector);
        for (int64_t shared = 0; shared < group; shared++) {
            state.read(token * attention.query_heads + head * group + shared);
        }
    }
}

template <typename T, typename C>
__global__ void
linear_attention_kernel(const CudaLinearAttention attention, int64_t tiles, int64_t count)
{
    for (int64_t n = blockIdx.x; n < count; n += gridDim.x) {
        int64_t matrix = n / tiles;
        int64_t column = n % tiles * COLUMNS + threadIdx.x;
        C *first = (C *)attention.state + matrix * attention.key_size * attention.value_size + column;
        StateColumn<T, C> state = {attention, first, column, column < attention.value_size};
        run_tokens(state, matrix / attention.key_heads, matrix % attention.key_heads);
    }
}

template <typename T>
static cudaError_t
attend(const CudaLinearAttention *attention, cudaStream_t stream)
{
    int64_t tiles = attention->value_size / COLUMNS + (attention->value_size % COLUMNS != 0);
    int64_t count = attention->batch * attention->key_heads * tiles;
    dim3 grid((unsigned)(count < INDEX_BLOCKS_MAX ? count : INDEX_BLOCKS_MAX));
    return count == 0 || attention->length == 0
               ? cudaSuccess
               : cuda_launch(linear_attention_kernel<T, Accumulator<T>>, grid, dim3(COLUMNS, PARTS), 0,
                     stream, *attention, tiles, count);
}

extern "C" int
cuda_linear_attention(CudaType type, const CudaLinearAttention *attention, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, attend<T>(attention, stream));
}
