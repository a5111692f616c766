/* ONNX's LinearAttention: a state, a matrix of key × value for each head, is updated by every token in turn,
 * and read by its query. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

enum { LINEAR_QUERY, LINEAR_KEY, LINEAR_VALUE, LINEAR_STATE, LINEAR_DECAY, LINEAR_BETA };

/* Sizes are -1 while they are not known. */
typedef struct LinearAttention {
    bool decays;        /* the state is multiplied by e^decay first */
    bool corrects;      /* what the key finds already is taken off its value, and beta weighs the rest */
    bool decays_by_key; /* there is a decay for each number of a key, not one for all */
    bool shares_beta;   /* there is one beta for all heads */
    int64_t batch;
    int64_t length;
    int64_t query_heads;
    int64_t key_heads;
    int64_t key_size;
    int64_t value_size;
    Shape output;
    Shape state; /* [batch, head of the key, key, value] */
} LinearAttention;

/* Reads attributes and shapes. INVALID_ARGUMENT when they do not fit. */
MUST_USE Status linear_attention_read(
    Call *call, const InferContext *context, LinearAttention *ret_attention);
