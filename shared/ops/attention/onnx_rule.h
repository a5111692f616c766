/* ONNX's Attention: softmax(softcap(query × key × scale) + mask) × value, for each head; the keys and values
 * of the past stand in front of those that are given. Heads are a dimension (rank 4: [batch, head, position,
 * size]) or lie side by side in the last one (rank 3). Several heads of the query may share one of the key.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for shapes and attributes that do not fit. */
#pragma once

#include "shared/ops/infer.h"

enum {
    ONNX_ATTENTION_QUERY,
    ONNX_ATTENTION_KEY,
    ONNX_ATTENTION_VALUE,
    ONNX_ATTENTION_MASK,
    ONNX_ATTENTION_PAST_KEY,
    ONNX_ATTENTION_PAST_VALUE,
    ONNX_ATTENTION_LENGTHS, /* nonpad_kv_seqlen: how many keys of each batch are no padding */
    ONNX_ATTENTION_INPUTS
};

enum {
    ONNX_ATTENTION_OUTPUT,
    ONNX_ATTENTION_PRESENT_KEY,
    ONNX_ATTENTION_PRESENT_VALUE,
    ONNX_ATTENTION_SCORES, /* there only when it is asked for */
};

/* What the output of scores holds (qk_matmul_output_mode). */
typedef enum OnnxAttentionMode {
    ONNX_ATTENTION_PRODUCTS,
    ONNX_ATTENTION_CAPPED,
    ONNX_ATTENTION_MASKED,
    ONNX_ATTENTION_WEIGHTS,
    ONNX_ATTENTION_MODES
} OnnxAttentionMode;

/* Sizes are -1 while they are not known. */
typedef struct OnnxAttention {
    bool is_packed; /* rank 3 */
    bool is_causal;
    OnnxAttentionMode mode;
    double softcap; /* 0: none */
    int64_t left;   /* how far a query sees to the left and right of its own position; -1: to the end */
    int64_t right;
    int64_t batch;
    int64_t query_heads;
    int64_t key_heads;
    int64_t queries;
    int64_t keys; /* that are given, without those of the past */
    int64_t past;
    int64_t total;
    int64_t head_size;  /* of queries and keys */
    int64_t value_size; /* of values */
} OnnxAttention;

/* Reads attributes, and leaves the sizes alone. */
MUST_USE Status onnx_attention_read_attributes(Call *call, const Node *node, OnnxAttention *attention);

/* Reads attributes and shapes; the query's rank must be known. */
MUST_USE Status onnx_attention_read(Call *call, const InferContext *context, OnnxAttention *ret_attention);

/* Returns the factor of the products: the attribute's, else 1 / √head_size. */
double onnx_attention_scale(const Node *node, const OnnxAttention *attention);

/* The keys that a query may see but for the mask: from the first one to before the end. */
typedef struct OnnxAttentionSpan {
    int64_t first;
    int64_t end; /* at most `first` when it sees none */
} OnnxAttentionSpan;

/* Returns what a query of a batch sees. `lengths` has the number of keys of each batch that are no padding,
 * which has been checked; NULL: none is. The position of the first query is behind the past, or such that the
 * last one has the position of the last key that is no padding. */
OnnxAttentionSpan onnx_attention_span(
    const OnnxAttention *attention, const int64_t *lengths, int64_t batch, int64_t query);

/* INVALID_ARGUMENT unless each of `lengths` is within the number of keys. */
MUST_USE Status onnx_attention_check_lengths(
    Call *call, const OnnxAttention *attention, const int64_t *lengths);

/* Returns the shape of an output. */
Shape onnx_attention_shape(const OnnxAttention *attention, uint32_t output);
