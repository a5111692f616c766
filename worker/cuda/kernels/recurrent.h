/* The cells of ONNX's RNN, GRU and LSTM. Their matrix products are matmul.h's. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CudaGateFunction {
    CUDA_GATE_AFFINE,
    CUDA_GATE_ELU,
    CUDA_GATE_HARD_SIGMOID,
    CUDA_GATE_LEAKY_RELU,
    CUDA_GATE_RELU,
    CUDA_GATE_SCALED_TANH,
    CUDA_GATE_SIGMOID,
    CUDA_GATE_SOFTPLUS,
    CUDA_GATE_SOFTSIGN,
    CUDA_GATE_TANH,
    CUDA_GATE_THRESHOLDED_RELU,
} CudaGateFunction;

typedef struct CudaGateActivation {
    CudaGateFunction function;
    double alpha;
    double beta;
} CudaGateActivation;

enum { CUDA_CELL_ACTIVATIONS_MAX = 3 };

/* One direction of a recurrent network. Gates stand in ONNX's order: of a GRU update, reset, candidate; of an
 * LSTM input, output, forget, cell. */
typedef struct CudaRecurrence {
    int64_t time;
    int64_t batch;
    int64_t hidden;
    int64_t gates;
    int64_t sums_time_step; /* distances in elements, of points in time and sequences */
    int64_t sums_batch_step;
    int64_t turned_batch_step;
    int64_t output_time_step;
    int64_t output_batch_step;
    int64_t state_batch_step;
    const void *sums;       /* x W of all points in time, [gates × hidden] each */
    const void *turned;     /* h R of this step, for each sequence [gates × hidden] */
    const void *biases;     /* [2 × gates × hidden], or NULL */
    const void *peepholes;  /* LSTM: [3 × hidden], or NULL */
    const int32_t *lengths; /* of sequences, or NULL: all are `time` */
    void *output;
    void *state; /* h and, of an LSTM, c: replaced by the step */
    void *memory;
    void *kept; /* GRU: what the reset gate leaves of h, [batch, hidden], and its product with R. */
    const void
        *candidates; /* NULL: the gate is applied to the candidate's part of h R (linear_before_reset) */
    CudaGateActivation activations[CUDA_CELL_ACTIVATIONS_MAX]; /* of gates, of the candidate, of the output */
    double clip;                                               /* 0: no clipping */
    bool is_reverse;
    bool couples_forget; /* LSTM: forget is 1 - input */
} CudaRecurrence;

typedef enum CudaCell { CUDA_CELL_RNN, CUDA_CELL_GRU_RESET, CUDA_CELL_GRU, CUDA_CELL_LSTM } CudaCell;

/* Computes step `turn` of every sequence that is so long; CUDA_CELL_GRU_RESET, what the reset gate leaves of
 * the states, zeros of those that are shorter. float32 and float64. */
int cuda_recurrent_step(
    CudaType type, CudaCell cell, const CudaRecurrence *recurrence, int64_t turn, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
