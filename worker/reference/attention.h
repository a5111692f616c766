/* Attention (shared/ops/attention.h) in blocks of query rows: a block has the whole rows of its scores, so
 * that the softmax is that of the unfused ops, and never more of the score matrix. Each block is computed as
 * the unfused ops would compute it: every step rounds to the dtype.
 *
 * Ownership: the caller owns the room that blocks work in.
 * Threads:   any; blocks are independent of each other. */
#pragma once

#include "shared/ops/attention.h"
#include "worker/runtime/kernel.h"

typedef enum AttentionProduct {
    ATTENTION_SCORES,  /* queries × keys */
    ATTENTION_WEIGHING /* softmax × values */
} AttentionProduct;

/* Multiplies rows of a left matrix with a whole right one. All three are of rank 2; the bits of a row must
 * not depend on which others come with it. */
typedef void (*AttentionMultiply)(
    void *context, AttentionProduct product, const Tensor *a, const Tensor *b, Tensor *output);

/* Replaces each row of scores, a tensor of rank 2, by its softmax. `line` has room for one row. */
typedef void (*AttentionNormalise)(Tensor *scores, double *line);

/* The members from block_rows on are the caller's to set: the kernels whose bits the blocks have. */
typedef struct AttentionWork {
    Attention attention;
    AttentionShapes shapes;
    const Tensor *inputs;
    Tensor *output;
    int64_t matrices;   /* of the output; 0: there is nothing to compute */
    int64_t rows;       /* of each */
    int64_t block_rows; /* of a block but the last */
    AttentionMultiply multiply;
    void *context; /* for multiply() */
    AttentionNormalise normalise;
    ElementLoop steps[ATTENTION_ARITHMETIC_KINDS];
} AttentionWork;

/* Describes the work of a node and makes its output. */
MUST_USE Status attention_begin(KernelContext *context, AttentionWork *ret_work);

int64_t attention_block_count(const AttentionWork *work); /* of all matrices */

/* Returns the bytes of the room that a block of `rows` rows works in. */
uint64_t attention_room(const AttentionShapes *shapes, Dtype dtype, int64_t rows);

/* Computes a block in room of its own, which is aligned to 64 bytes. */
void attention_block(const AttentionWork *work, int64_t block, void *room);
