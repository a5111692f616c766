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

/* The operands, followed by the output. */
enum { EINSUM_POSITIONS_MAX = EINSUM_OPERANDS_MAX + 1 };

/* The indices of an einsum whose operands are known: those of the output, then those that are summed over.
 * Two dimensions of one operand that are one index are walked along their diagonal. */
typedef struct EinsumIndices {
    int kept_count; /* of the output; the others are summed over */
    int count;
    int64_t sizes[EINSUM_LABELS_MAX];

    /* By index and operand, with the output behind the last operand; in elements of dense tensors, 0 where a
     * tensor is broadcast or lacks the index. */
    int64_t strides[EINSUM_LABELS_MAX][EINSUM_POSITIONS_MAX];
} EinsumIndices;

/* `shapes` are those of the operands, followed by the output's. */
EinsumIndices einsum_indices(const Einsum *einsum, const Shape *const *shapes);
