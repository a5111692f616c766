/* Cells of TensorFlow's recurrent networks. Their matrix products are matmul.h's. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CudaLstmOutput {
    CUDA_LSTM_I,
    CUDA_LSTM_CS,
    CUDA_LSTM_F,
    CUDA_LSTM_O,
    CUDA_LSTM_CI,
    CUDA_LSTM_CO,
    CUDA_LSTM_H,
    CUDA_LSTM_OUTPUTS
} CudaLstmOutput;

/* One step: i = σ(I), ci = tanh(C), f = σ(F + forget bias), cs = ci × i + cs' × f, o = σ(O), co = tanh(cs),
 * h = co × o; peepholes add wci × cs', wcf × cs' and wco × cs to I, F and O. */
typedef struct CudaLstmCell {
    int64_t batch;
    int64_t cell;
    const void *sums;         /* [x, h'] × w: [batch, 4 × cell] */
    const void *biases;       /* [4 × cell] */
    const void *peepholes[3]; /* [cell] each, or NULL */
    const void *cs_prev;
    void *outputs[CUDA_LSTM_OUTPUTS];
    double forget_bias;
    double clip;        /* of cs; 0: none */
    int64_t columns[4]; /* the first ones of I, C, F and O */
} CudaLstmCell;

/* float32 and float64. */
int cuda_lstm_cell(CudaType type, const CudaLstmCell *cell, cudaStream_t stream);

/* One step: r, u = σ([x, h'] × w_ru + b_ru), c = tanh([x, h' × r] × w_c + b_c), h = u × h' + (1 - u) × c. */
typedef struct CudaGruCell {
    int64_t batch;
    int64_t cell;
    const void *sums;   /* of the gates [batch, 2 × cell], then of the candidate [batch, cell] */
    const void *biases; /* as many columns */
    const void *h_prev;
    void *kept; /* h' × r */
    void *r;
    void *u;
    void *c;
    void *h;
} CudaGruCell;

/* The first computes r, u and h' × r, the second c and h. float32 and float64. */
int cuda_gru_gates(CudaType type, const CudaGruCell *cell, cudaStream_t stream);
int cuda_gru_state(CudaType type, const CudaGruCell *cell, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
