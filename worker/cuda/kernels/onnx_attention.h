/* The rows of scores of ONNX's Attention, from the products of a query and all keys to the weights of the
 * values. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_ATTENTION_RANK = 4 }; /* batch, head, query, key */

/* The stages of a row (OnnxAttentionMode), of which one may be kept. */
typedef enum CudaAttentionStage {
    CUDA_ATTENTION_PRODUCTS,
    CUDA_ATTENTION_CAPPED,
    CUDA_ATTENTION_MASKED,
    CUDA_ATTENTION_WEIGHTS,
} CudaAttentionStage;

typedef struct CudaAttentionRows {
    void *scores; /* products [batch, head, query, key], which the weights take the place of */
    int64_t rows;
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int64_t past; /* keys in front of those that belong to the queries */
    double scale;
    double softcap; /* 0: none */
    bool is_causal;
    int64_t left; /* how far a query sees from its own position; -1: to the end */
    int64_t right;
    const int64_t *lengths; /* keys of each batch that are no padding; NULL: none is */
    CudaBlame blame;        /* for lengths that cannot be */
    const void *mask;       /* bools, or float (double for float64) to be added; NULL: none */
    bool mask_is_bool;
    int64_t mask_keys; /* those behind are masked */
    int64_t mask_strides[CUDA_ATTENTION_RANK];
    const void *sinks; /* a score of no key for each head; NULL: none, or 0 with `is_smooth` */
    bool is_smooth;
    CudaAttentionStage stage; /* that is kept */
    void *kept;               /* NULL: none is */
} CudaAttentionRows;

/* A row all of whose keys are masked becomes zeros. Floating types. */
int cuda_attention_rows(CudaType type, const CudaAttentionRows *rows, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
