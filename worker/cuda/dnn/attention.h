/* Attention of 16 bits by cuDNN, as one graph: queries × keys, a scale, what is added to the scores, what
 * comes later hidden, the softmax, × values. Nothing of it but the output is in the card's memory, and
 * everything between is float32. What cuDNN cannot or will not compute is left to kernels of Sluice's
 * (kernels/attention.h), and counted by reason.
 *
 * Threads: the one whose turn the lane is; dnn_attention_refusals() by any.
 * Errors:  RESOURCE_EXHAUSTED without memory for plans or the workspace; those of cuda_check(). */
#pragma once

#include "worker/cuda/dnn/description.h"
#include "worker/runtime/kernel.h"

/* Vectors of `size` neighbours, one for each position of each head of each batch. */
typedef struct DnnHeads {
    const void *data;
    int64_t heads;
    int64_t size;
    int64_t batch_step; /* in elements */
    int64_t head_step;
    int64_t position_step;
} DnnHeads;

enum { DNN_SCORES_RANK = 4 }; /* batch, head, query, key */

typedef struct DnnAttention {
    int64_t batch;
    int64_t queries;
    int64_t keys;
    DnnHeads query;
    DnnHeads key; /* each head is that of as many of the query's */
    DnnHeads value;
    DnnHeads output;
    float factor;                          /* of the products, beside the scale */
    const void *scale;                     /* one number in the card's memory; NULL: none */
    bool is_divisor;                       /* products are divided by the scale */
    const void *addend;                    /* dense, in the card's memory; NULL: none */
    int64_t addend_sizes[DNN_SCORES_RANK]; /* the scores' or 1 */
    bool is_causal;                        /* a query sees no key behind its own position */
} DnnAttention;

/* Attends in the context's lane. DNN_ACCEPTED in `ret_refusal`: it is enqueued; otherwise nothing is. The
 * output has elements, and there is a key. */
MUST_USE Status dnn_attend(
    KernelContext *context, CudaType type, const DnnAttention *attention, DnnRefusal *ret_refusal);

/* Returns how many times attention was left to the plain kernels for this reason; those that were not for
 * DNN_ACCEPTED. */
uint64_t dnn_attention_refusals(DnnRefusal refusal);
