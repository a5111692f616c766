#include "worker/cuda/kernels/recurrent.h"

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
apply_clipped(const CudaRecurrence &run, int activation, C x)
{
    C clip = (C)run.clip;
    return apply_gate(run.activations[activation], clip > 0 ? fmin(fmax(x, -clip), clip) : x);
}

/* The sum that reaches a gate: both products, their biases, and the peephole's share of the memory. */
template <typename T> struct GateInputs {
    const CudaRecurrence &run;
    const T *sums;
    const T *turned;
    int64_t unit;

    __device__ __forceinline__ T
    bias(int64_t gate) const
    {
        return run.biases == nullptr ? 0 : ((const T *)run.biases)[gate * run.hidden + unit];
    }

    __device__ __forceinline__ T
    of_input(int gate) const
    {
        return sums[gate * run.hidden + unit] + bias(gate);
    }

    __device__ __forceinline__ T
    of_state(int gate) const
    {
        return turned[gate * run.hidden + unit] + bias(run.gates + gate);
    }

    __device__ __forceinline__ T
    of(int gate) const
    {
        return of_input(gate) + of_state(gate);
    }

    __device__ __forceinline__ T
    of(int gate, T memory) const
    {
        const T *peepholes = (const T *)run.peepholes;
        return of(gate) + (peepholes == nullptr ? 0 : peepholes[gate * run.hidden + unit] * memory);
    }
};

/* A unit of a sequence at a point in time. */
struct Place {
    int64_t sequence;
    int64_t unit;
    int64_t state; /* its element of the states */
};

/* Each cell computes the next state of a unit. */
struct RnnCell {
    template <typename T>
    static __device__ __forceinline__ T
    next(const CudaRecurrence &run, const GateInputs<T> &gates, const Place &)
    {
        return apply_clipped(run, 0, gates.of(0));
    }
};

struct GruCell {
    enum { UPDATE, RESET, CANDIDATE };

    template <typename T>
    static __device__ __forceinline__ T
    candidate(const CudaRecurrence &run, const GateInputs<T> &gates, const Place &place)
    {
        if (run.candidates == nullptr) {
            return gates.of_state(CANDIDATE) * apply_clipped(run, 0, gates.of(RESET));
        }
        return ((const T *)run.candidates)[place.sequence * run.hidden + place.unit] +
               gates.bias(run.gates + CANDIDATE);
    }

    template <typename T>
    static __device__ __forceinline__ T
    next(const CudaRecurrence &run, const GateInputs<T> &gates, const Place &place)
    {
        T update = apply_clipped(run, 0, gates.of(UPDATE));
        T input = gates.of_input(CANDIDATE) + candidate(run, gates, place);
        return (1 - update) * apply_clipped(run, 1, input) + update * ((const T *)run.state)[place.state];
    }
};

struct LstmCell {
    enum { INPUT, OUTPUT, FORGET, CANDIDATE };

    template <typename T>
    static __device__ __forceinline__ T
    next(const CudaRecurrence &run, const GateInputs<T> &gates, const Place &place)
    {
        T *memory = (T *)run.memory;
        T before = memory[place.state];
        T input = apply_clipped(run, 0, gates.of(INPUT, before));
        T forget = run.couples_forget ? 1 - input : apply_clipped(run, 0, gates.of(FORGET, before));
        T after = forget * before + input * apply_clipped(run, 1, gates.of(CANDIDATE));
        memory[place.state] = after;
        return apply_clipped(run, 0, gates.of(OUTPUT, after)) * apply_clipped(run, 2, after);
    }
};

/* Returns how many points in time a sequence has; below 1: none. */
__device__ __forceinline__ int64_t
length_of(const CudaRecurrence &run, int64_t sequence)
{
    int64_t told = run.lengths == nullptr ? run.time : run.lengths[sequence];
    return told < run.time ? told : run.time;
}

template <typename T>
__device__ __forceinline__ GateInputs<T>
gates_of(const CudaRecurrence &run, int64_t moment, const Place &place)
{
    return {run, (const T *)run.sums + moment * run.sums_time_step + place.sequence * run.sums_batch_step,
        (const T *)run.turned + place.sequence * run.turned_batch_step, place.unit};
}

template <typename T, typename Cell>
__global__ void
cell_kernel(const CudaRecurrence run, int64_t turn, int64_t count)
{
    for (int64_t at = index_first(); at < count; at += index_step()) {
        Place place = {at / run.hidden, at % run.hidden, 0};
        int64_t length = length_of(run, place.sequence);
        if (turn < length) {
            int64_t moment = run.is_reverse ? length - 1 - turn : turn;
            place.state = place.sequence * run.state_batch_step + place.unit;
            T next = Cell::next(run, gates_of<T>(run, moment, place), place);
            int64_t written =
                moment * run.output_time_step + place.sequence * run.output_batch_step + place.unit;
            ((T *)run.state)[place.state] = next;
            ((T *)run.output)[written] = next;
        }
    }
}

template <typename T>
__global__ void
gru_reset_kernel(const CudaRecurrence run, int64_t turn, int64_t count)
{
    for (int64_t at = index_first(); at < count; at += index_step()) {
        Place place = {at / run.hidden, at % run.hidden, 0};
        int64_t length = length_of(run, place.sequence);
        T kept = 0;
        if (turn < length) {
            int64_t moment = run.is_reverse ? length - 1 - turn : turn;
            T reset = apply_clipped(run, 0, gates_of<T>(run, moment, place).of(GruCell::RESET));
            kept = reset * ((const T *)run.state)[place.sequence * run.state_batch_step + place.unit];
        }
        ((T *)run.kept)[at] = kept;
    }
}

template <typename T>
static cudaError_t
run_step(CudaCell cell, const CudaRecurrence *run, int64_t turn, cudaStream_t stream)
{
    static void (*const kernels[])(CudaRecurrence, int64_t, int64_t) = {
        cell_kernel<T, RnnCell>, gru_reset_kernel<T>, cell_kernel<T, GruCell>, cell_kernel<T, LstmCell>};
    int64_t count = run->batch * run->hidden;
    if (count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(kernels[cell], index_grid(count), dim3(INDEX_THREADS), 0, stream, *run, turn, count);
}

extern "C" int
cuda_recurrent_step(
    CudaType type, CudaCell cell, const CudaRecurrence *recurrence, int64_t turn, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, run_step<T>(cell, recurrence, turn, stream));
}
