/* The equation of an einsum ("bij,bjk->bik", "...ij->...ji", "ii"), which names the dimensions of its
 * operands that are one index. Indices that the output lacks are summed over; "..." stands for dimensions
 * that broadcast.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for an equation that breaks the grammar or does not fit the operands. */
#pragma once

#include "shared/ops/infer.h"

/* Labels are the 52 letters, then the dimensions of "..." from the last one on. */
enum { EINSUM_OPERANDS_MAX = 8, EINSUM_LETTERS = 52, EINSUM_LABELS_MAX = EINSUM_LETTERS + SHAPE_RANK_MAX };

typedef struct EinsumTerm {
    int rank;
    int labels[SHAPE_RANK_MAX];
} EinsumTerm;

typedef struct Einsum {
    uint32_t operand_count;
    EinsumTerm operands[EINSUM_OPERANDS_MAX];
    EinsumTerm output;
    int64_t sizes[EINSUM_LABELS_MAX]; /* by label; -1: not known; meaningless for labels that do not occur */
} Einsum;

/* `ret_is_known` says whether the ranks of all operands are known; only then `ret_einsum` is filled. */
MUST_USE Status einsum_read(
    Call *call, Slice equation, const InferContext *context, Einsum *ret_einsum, bool *ret_is_known);
