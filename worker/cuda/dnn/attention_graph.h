/* Attention as a graph of cuDNN's operations, in the form that its engines know: with the statistics that a
 * training step would need, without which 9.19 has one for heads of 64 alone.
 *
 * Threads: one at a time.
 * Errors:  the library's codes. */
#pragma once

#include "worker/cuda/dnn/graph.h"

/* The graph's tensors; values between operations come behind. */
typedef enum DnnAttentionTensor {
    DNN_ATTENTION_QUERY = 1,
    DNN_ATTENTION_KEY,
    DNN_ATTENTION_VALUE,
    DNN_ATTENTION_OUTPUT,
    DNN_ATTENTION_SCALE,      /* a float32 in the card's memory */
    DNN_ATTENTION_ADDEND,     /* if there is one */
    DNN_ATTENTION_LOWEST,     /* if it is causal: a float32 in the host's memory, of what is hidden */
    DNN_ATTENTION_STATISTICS, /* a float32 for each row of scores, which nobody reads */
    DNN_ATTENTION_BETWEEN,
} DnnAttentionTensor;

/* All by which the library chooses. Dimensions are batch, head, and those of a matrix, of which the key's is
 * transposed. Compared byte by byte; without padding. */
typedef struct DnnAttentionDescription {
    int64_t type; /* a CudaType */
    int64_t is_causal;
    DnnTensor query;
    DnnTensor key;
    DnnTensor value;
    DnnTensor output;
    DnnTensor addend; /* without alignment: there is none */
    DnnTensor scores; /* dense; between operations */
} DnnAttentionDescription;

/* Returns the request for a plan of it, which must live as long. */
DnnRequest dnn_attention_request(const DnnAttentionDescription *description);
