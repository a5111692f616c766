#include "worker/cuda/kernels/lstm.h"

#include "worker/cuda/kernels/index.cuh"

template <typename C>
__device__ C
apply_gate(const CudaGateActivation &activation, C x)
{
    C alpha = (C)activation.alpha;
    C beta = (C)activation.beta;
    switch (activation.function) {
    case CUDA_GATE_AFFINE:
        return alpha * x + beta;
    case CUDA_GATE_ELU:
        return x < 0 ? alpha * expm1(x) : x;
    case CUDA_GATE_HARD_SIGMOID:
        return fmin(fmax(alpha * x + beta, (C)0), (C)1);
    case CUDA_GATE_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case CUDA_GATE_RELU:
        return x < 0 ? 0 : x;
    case CUDA_GATE_SCALED_TANH:
        return alpha * tanh(beta * x);
    case CUDA_GATE_SIGMOID:
        return 1 / (1 + exp(-x));
    case CUDA_GATE_SOFTPLUS:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case CUDA_GATE_SOFTSIGN:
        return x / (1 + fabs(x));
    case CUDA_GATE_TANH:
        return tanh(x);
    case CUDA_GATE_THRESHOLDED_RELU:
        return x >= alpha ? x : 0;
    }
    return x;
}

template <typename C>
__device__ __forceinline__ C
apply_clipped(const CudaLstm &lstm, int activation, C x)
{
    C clip = (C)lstm.clip;
    return apply_gate(lstm.activations[activation], clip > 0 ? fmin(fmax(x, -clip), clip) : x);
}

/* The sum that reaches a gate: both products, their biases, and the peephole's share of the memory. */
template <typename T> struct GateInputs {
    const CudaLstm &lstm;
    const T *sums;
    const T *turned;
    int64_t unit;

    __device__ __forceinline__ T
    of(int gate) const
    {
        const T *biases = (const T *)lstm.biases;
        int64_t at = gate * lstm.hidden + unit;
        T input = sums[at] + (biases == nullptr ? 0 : biases[at]);
        T before = turned[at] + (biases == nullptr ? 0 : biases[4 * lstm.hidden + at]);
        return input + before;
    }

    __device__ __forceinline__ T
    of(int gate, T memory) const
    {
        const T *peepholes = (const T *)lstm.peepholes;
        return of(gate) + (peepholes == nullptr ? 0 : peepholes[gate * lstm.hidden + unit] * memory);
    }
};

template <typename T>
__device__ __forceinline__ void
step_unit(const CudaLstm &lstm, int64_t turn, int64_t sequence, int64_t unit)
{
    enum { INPUT, OUTPUT, FORGET, CANDIDATE };
    int64_t told = lstm.lengths == nullptr ? lstm.time : lstm.lengths[sequence];
    int64_t length = told < lstm.time ? told : lstm.time;
    if (turn >= length) {
        return;
    }
    int64_t moment = lstm.is_reverse ? length - 1 - turn : turn;
    const GateInputs<T> gates = {lstm,
        (const T *)lstm.sums + moment * lstm.sums_time_step + sequence * lstm.sums_batch_step,
        (const T *)lstm.turned + sequence * 4 * lstm.hidden, unit};
    int64_t at = sequence * lstm.state_batch_step + unit;
    T *memory = (T *)lstm.memory;
    T before = memory[at];
    T input = apply_clipped(lstm, 0, gates.of(INPUT, before));
    T forget = lstm.couples_forget ? 1 - input : apply_clipped(lstm, 0, gates.of(FORGET, before));
    T after = forget * before + input * apply_clipped(lstm, 1, gates.of(CANDIDATE));
    T output = apply_clipped(lstm, 0, gates.of(OUTPUT, after)) * apply_clipped(lstm, 2, after);
    memory[at] = after;
    ((T *)lstm.state)[at] = output;
    ((T *)lstm.output)[moment * lstm.output_time_step + sequence * lstm.output_batch_step + unit] = output;
}

template <typename T>
__global__ void
lstm_kernel(const CudaLstm lstm, int64_t turn, int64_t count)
{
    for (int64_t at = index_first(); at < count; at += index_step()) {
        step_unit<T>(lstm, turn, at / lstm.hidden, at % lstm.hidden);
    }
}

template <typename T>
static cudaError_t
run_step(const CudaLstm *lstm, int64_t turn, cudaStream_t stream)
{
    int64_t count = lstm->batch * lstm->hidden;
    if (count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(lstm_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream, *lstm, turn, count);
}

extern "C" int
cuda_lstm_step(CudaType type, const CudaLstm *lstm, int64_t turn, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, run_step<T>(lstm, turn, stream));
}
