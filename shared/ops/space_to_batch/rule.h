/* Blocks of space moved into the batch and back: SpaceToBatch, BatchToSpace and their ND forms.
 *
 * The first dimension is the batch, the next `rank` are cut into blocks, the others stay.
 * Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Blocks {
    bool is_known; /* whether the sizes, the paddings and the input's rank are known */
    int rank;
    int64_t size[SHAPE_RANK_MAX];
    int64_t before[SHAPE_RANK_MAX]; /* padded, or cropped on the way back */
    int64_t after[SHAPE_RANK_MAX];
    Shape output;
} Blocks;

/* INVALID_ARGUMENT when the sizes of the blocks do not divide the padded input. */
MUST_USE Status blocks_read(Call *call, const InferContext *context, Blocks *ret_blocks);

/* Returns whether the op moves blocks into the batch (SpaceToBatch) or out of it (BatchToSpace). */
bool blocks_go_to_batch(const Node *node);
