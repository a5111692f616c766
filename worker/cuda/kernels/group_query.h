/* The keys, values and queries of ONNX Runtime's GroupQueryAttention, before their products. Valid C11 and
 * C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An example's tokens of the query lie behind those of its past, whose number `lengths` tells. */
typedef struct CudaGroupQuery {
    const void
        *query;      /* [batch, token, head, size]; heads of keys and of values follow where `key` is NULL */
    const void *key; /* [batch, token, key head, size] */
    const void *value;
    const void *past_key; /* [batch, key head, past, size] */
    const void *past_value;
    const void *cosines; /* [angles, turned / 2] */
    const void *sines;
    const int32_t *lengths;   /* tokens of an example, those of the past among them, less one */
    const int64_t *positions; /* [batch, token]; NULL: they follow from the lengths */
    void *queries;            /* rotated: [batch, head, token, size] */
    void *keys;               /* [batch, key head, present, size]: the past, the new ones rotated, zeros */
    void *values;
    int64_t *totals; /* `lengths` as the kernels take them, and one more */
    int64_t batch;
    int64_t length;
    int64_t heads;
    int64_t key_heads;
    int64_t size;
    int64_t past;
    int64_t present;
    int64_t turned; /* numbers of a head that are rotated; 0: none */
    int64_t angles;
    int64_t bias_keys;    /* for which there is a bias; -1: there is none at all */
    bool is_prompt;       /* nothing is in the past */
    bool is_interleaved;  /* pairs that are rotated are neighbours, not the same places of two halves */
    CudaBlame for_tokens; /* for lengths that do not fit */
    CudaBlame for_angle;  /* for positions without angles */
    CudaBlame for_bias;   /* for more keys than have a bias */
} CudaGroupQuery;

/* Refuses what does not fit, and fills `totals`. */
int cuda_group_check(const CudaGroupQuery *group, cudaStream_t stream);

/* Fill keys and values, and queries. float16, bfloat16 and float32. */
int cuda_group_lay(CudaType type, const CudaGroupQuery *group, cudaStream_t stream);
int cuda_group_rotate(CudaType type, const CudaGroupQuery *group, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
