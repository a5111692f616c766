/* Bands of diagonals of matrices, and how they are packed: MatrixDiag, MatrixDiagPart, MatrixSetDiag in all
 * their versions.
 *
 * Diagonal d holds elements (i, i + d) for d ≥ 0 and (i - d, i) for d < 0. A packed band has a row a
 * diagonal, the highest first; shorter ones lie left or right in their row. A band of one diagonal has no
 * rows. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Diagonals {
    bool is_known;
    int64_t lower; /* first and last diagonal */
    int64_t upper;
    int64_t rows; /* of a matrix */
    int64_t columns;
    int64_t length_max;  /* of a diagonal */
    bool is_upper_right; /* diagonals above the main one lie right in their row */
    bool is_lower_right;
    Shape batch; /* the dimensions in front */
    Shape output;
} Diagonals;

/* Of matrices that are input 0 (parts and sets) or that the op makes of packed diagonals. */
MUST_USE Status diagonals_of_matrix(Call *call, const InferContext *context, Diagonals *ret_diagonals);
MUST_USE Status diagonals_to_matrix(Call *call, const InferContext *context, Diagonals *ret_diagonals);

int64_t diagonals_length(const Diagonals *diagonals, int64_t diagonal);
