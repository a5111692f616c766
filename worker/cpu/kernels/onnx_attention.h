/* Attention of float32 in blocks of query rows. The rows of all query heads that share a head of the key are
 * one matrix, of which a block's scores stay in the cache from the first product to the second; they are
 * never whole unless they are asked for. Tasks are cut by the shapes alone, so that the bits depend on
 * nothing else.
 *
 * Ownership: the caller's; what blocks work in comes from the device and goes back to it.
 * Threads:   any; the work is shared among those of the device.
 * Errors:    RESOURCE_EXHAUSTED when the device has no memory for scores. */
#pragma once

#include "shared/ops/attention/onnx_rule.h"
#include "worker/runtime/kernel.h"

typedef struct AttentionBlocks {
    OnnxAttention attention; /* has elements: attention_has_elements() */
    float scale;
    const float *query;
    const float *keys; /* of the past, too: [batch, head, position, size] */
    const float *values;
    const int64_t *lengths; /* NULL: none are given */
    const Tensor *mask;     /* NULL: none */
    float *output;
    float *kept; /* the output of scores; NULL: nobody asks for it */

    /* Hidden values that are not finite count too: ONNX weighs them by 0, and 0 × ∞ is NaN. */
    bool weighs_hidden;

    /* Lays down keys and values of a matrix, batch × key_heads + head of the key, on the thread that computes
     * it where one thread computes all of it: they are still in its cache. NULL: they lie there. */
    void (*lay)(void *context, int64_t matrix);
    void *context;
} AttentionBlocks;

/* Returns whether there is anything to compute, and to compute it of. */
bool attention_has_elements(const OnnxAttention *attention);

MUST_USE Status attention_blocks_run(KernelContext *context, const AttentionBlocks *blocks);

/* Returns the bytes that attention_blocks_run() takes from the device when all its threads work; there are
 * elements. */
uint64_t attention_blocks_scratch(const Device *device, const OnnxAttention *attention);
