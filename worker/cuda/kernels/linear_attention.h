/* ONNX's LinearAttention: the tokens of a sequence write into a matrix for each head, and read from it. Valid
 * C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaLinearAttention {
    const void *query; /* [batch, token, query head × key] */
    const void *key;   /* [batch, token, key head × key] */
    const void *value; /* [batch, token, key head × value] */
    const void *decay; /* [batch, token, key head], or × key with `decays_by_key`; NULL: none */
    const void *beta;  /* [batch, token, key head], or [batch, token] with `shares_beta`; NULL: values are
                          written as they are */
    void *state;       /* [batch, key head, key, value], changed in place; double for float64, else float */
    void *output;      /* [batch, token, query head × value] */
    int64_t batch;
    int64_t length;
    int64_t query_heads;
    int64_t key_heads;
    int64_t key_size;
    int64_t value_size;
    bool decays_by_key;
    bool shares_beta;
    double scale;
} CudaLinearAttention;

/* Floating types. */
int cuda_linear_attention(CudaType type, const CudaLinearAttention *attention, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
