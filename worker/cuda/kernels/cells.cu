/* A thread computes a unit of a batch. */
#include "worker/cuda/kernels/cells.h"

#include <cmath>

#include "worker/cuda/kernels/index.cuh"

template <typename T>
__device__ __forceinline__ T
sigmoid(T a)
{
    return a >= 0 ? 1 / (1 + (T)exp(-a)) : (T)exp(a) / (1 + (T)exp(a));
}

template <typename T>
__device__ __forceinline__ T
peephole_term(const CudaLstmCell &lstm, int which, T state, int64_t unit)
{
    const T *weights = (const T *)lstm.peepholes[which];
    return weights == nullptr ? 0 : weights[unit] * state;
}

/* Returns the sum that reaches a gate, with its bias. */
template <typename T>
__device__ __forceinline__ T
gate_input(const CudaLstmCell &lstm, int gate, int64_t row, int64_t unit)
{
    int64_t column = lstm.columns[gate] + unit;
    return ((const T *)lstm.sums)[row * 4 * lstm.cell + column] + ((const T *)lstm.biases)[column];
}

/* Each output is stored as soon as it is known: it needs no register then. */
template <typename T>
__global__ void
lstm_cell_kernel(CudaLstmCell lstm, int64_t count)
{
    enum { I, C, F, O };
    T clip = (T)lstm.clip;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        int64_t row = index_quotient(at, lstm.cell);
        int64_t unit = at - row * lstm.cell;
        T before = ((const T *)lstm.cs_prev)[at];
        T f = sigmoid(
            gate_input<T>(lstm, F, row, unit) + (T)lstm.forget_bias + peephole_term(lstm, 1, before, unit));
        ((T *)lstm.outputs[CUDA_LSTM_F])[at] = f;
        T i = sigmoid(gate_input<T>(lstm, I, row, unit) + peephole_term(lstm, 0, before, unit));
        ((T *)lstm.outputs[CUDA_LSTM_I])[at] = i;
        T ci = tanh(gate_input<T>(lstm, C, row, unit));
        ((T *)lstm.outputs[CUDA_LSTM_CI])[at] = ci;
        T cs = ci * i + before * f;
        cs = clip > 0 && cs > clip ? clip : cs;
        cs = clip > 0 && cs < -clip ? -clip : cs;
        ((T *)lstm.outputs[CUDA_LSTM_CS])[at] = cs;
        T o = sigmoid(gate_input<T>(lstm, O, row, unit) + peephole_term(lstm, 2, cs, unit));
        ((T *)lstm.outputs[CUDA_LSTM_O])[at] = o;
        T co = tanh(cs);
        ((T *)lstm.outputs[CUDA_LSTM_CO])[at] = co;
        ((T *)lstm.outputs[CUDA_LSTM_H])[at] = o * co;
    }
}

template <typename T>
__global__ void
gru_gates_kernel(CudaGruCell gru, int64_t count)
{
    const T *biases = (const T *)gru.biases;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        int64_t row = index_quotient(at, gru.cell);
        int64_t unit = at - row * gru.cell;
        const T *sums = (const T *)gru.sums + row * 2 * gru.cell;
        T r = sigmoid(sums[unit] + biases[unit]);
        ((T *)gru.r)[at] = r;
        ((T *)gru.u)[at] = sigmoid(sums[gru.cell + unit] + biases[gru.cell + unit]);
        ((T *)gru.kept)[at] = r * ((const T *)gru.h_prev)[at];
    }
}

template <typename T>
__global__ void
gru_state_kernel(CudaGruCell gru, int64_t count)
{
    for (int64_t at = index_first(); at < count; at += index_step()) {
        T u = ((const T *)gru.u)[at];
        T c = tanh(((const T *)gru.sums)[at] + ((const T *)gru.biases)[at % gru.cell]);
        ((T *)gru.c)[at] = c;
        ((T *)gru.h)[at] = u * ((const T *)gru.h_prev)[at] + (1 - u) * c;
    }
}

template <typename Cell>
static cudaError_t
run_cell(void (*kernel)(Cell, int64_t), const Cell *cell, cudaStream_t stream)
{
    int64_t count = cell->batch * cell->cell;
    return count == 0 ? cudaSuccess
                      : cuda_launch(kernel, index_grid(count), dim3(INDEX_THREADS), 0, stream, *cell, count);
}

extern "C" int
cuda_lstm_cell(CudaType type, const CudaLstmCell *cell, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, run_cell(lstm_cell_kernel<T>, cell, stream));
}

extern "C" int
cuda_gru_gates(CudaType type, const CudaGruCell *cell, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, run_cell(gru_gates_kernel<T>, cell, stream));
}

extern "C" int
cuda_gru_state(CudaType type, const CudaGruCell *cell, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, run_cell(gru_state_kernel<T>, cell, stream));
}
