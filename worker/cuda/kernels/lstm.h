/* The cell of an LSTM. Its matrix products are matmul.h's. Valid C11 and C++. */
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

/* One direction of an LSTM. Gates stand in ONNX's order: input, output, forget, cell. */
typedef struct CudaLstm {
    int64_t time;
    int64_t batch;
    int64_t hidden;
    int64_t sums_time_step; /* distances in elements, of points in time and sequences */
    int64_t sums_batch_step;
    int64_t output_time_step;
    int64_t output_batch_step;
    int64_t state_batch_step;
    const void *sums;       /* x W of all points in time, [4 × hidden] each */
    const void *turned;     /* h R of this step, [batch, 4 × hidden] */
    const void *biases;     /* [8 × hidden], or NULL */
    const void *peepholes;  /* [3 × hidden], or NULL */
    const int32_t *lengths; /* of sequences, or NULL: all are `time` */
    void *output;
    void *state; /* h and c, replaced by the step */
    void *memory;
    CudaGateActivation activations[3]; /* of gates, of the candidate, of the output */
    double clip;                       /* 0: no clipping */
    bool is_reverse;
    bool couples_forget; /* forget is 1 - input */
} CudaLstm;

/* Computes step `turn` of every sequence that is so long. float32 and float64. */
int cuda_lstm_step(CudaType type, const CudaLstm *lstm, int64_t turn, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
