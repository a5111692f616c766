/* Weights of 2, 4 or 8 bits in blocks that share a scale and a zero point, as ONNX Runtime packs them: the
 * lowest bits of a byte come first.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct WeightBlocks {
    int64_t bits;
    int64_t size;  /* elements of a block, a power of two from 16 on */
    int64_t count; /* blocks of a row; the last one may be cut short */
    int64_t row;   /* elements of a row */
} WeightBlocks;

/* Reads the attributes bits and block_size for rows of this size, -1: unknown. INVALID_ARGUMENT for others
 * than the packing has. */
MUST_USE Status weight_blocks_read(Call *call, const Node *node, int64_t row, WeightBlocks *ret_blocks);

/* Returns the element at a position of packed bytes, and the number in the middle of their range. */
static inline unsigned
packed_at(const uint8_t *bytes, int64_t bits, int64_t position)
{
    int64_t first = position * bits;
    return (unsigned)bytes[first / 8] >> (first % 8) & ((1U << bits) - 1);
}

static inline double
packed_middle(int64_t bits)
{
    return (double)(1U << (bits - 1));
}
