/* Bands of diagonals of matrices and their packed form, for MatrixDiag, MatrixDiagPart and MatrixSetDiag
 * in all versions.
 *
 * Diagonal d holds elements (i, i + d) for d ≥ 0 and (i - d, i) for d < 0. A packed band has a row for
 * each diagonal, the highest first; shorter ones stand left or right in their row. A band of one diagonal
 * has no rows.
 *
 * Threads:   any. */
#pragma once

#include "shared/ops/infer.h"

typedef struct Diagonals {
    bool is_known;
    int64_t lower; /* first and last diagonal */
    int64_t upper;
    int64_t rows; /* of a matrix */
    int64_t columns;
    int64_t length_max;  /* of a diagonal */
    bool is_upper_right; /* diagonals above the main one stand right in their row */
    bool is_lower_right;
    Shape batch; /* the dimensions in front of the matrices' */
    Shape output;
} Diagonals;

/* Reads the band of matrices that are input 0 (MatrixDiagPart, MatrixSetDiag) or that the op makes of
 * packed diagonals. */
MUST_USE Status diagonals_of_matrix(Call *call, const InferContext *context, Diagonals *ret_diagonals);
MUST_USE Status diagonals_to_matrix(Call *call, const InferContext *context, Diagonals *ret_diagonals);

int64_t diagonals_length(const Diagonals *diagonals, int64_t diagonal);
