/* How the rows of a ragged tensor are told: one tensor for each ragged dimension, the outermost first, and
 * before those that name rows, one with the number of all rows (tensorflow/core/util/ragged_tensor_util).
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT. */
#pragma once

#include "shared/graph/graph.h"

enum { RAGGED_SHAPE, RAGGED_VALUES, RAGGED_DEFAULT, RAGGED_PARTITIONS };

typedef enum RaggedPartition {
    RAGGED_OTHER,
    RAGGED_ROW_COUNT,  /* FIRST_DIM_SIZE: a scalar */
    RAGGED_ROW_IDS,    /* VALUE_ROWIDS: for each value the row that it is in */
    RAGGED_ROW_SPLITS, /* ROW_SPLITS: where each row begins, and where the last one ends */
} RaggedPartition;

RaggedPartition ragged_partition(const Node *node, uint32_t index);

/* Checks the kinds of all partitions; *ret_ragged: how many of them tell rows. */
MUST_USE Status ragged_check(Call *call, const Node *node, uint32_t *ret_ragged);
