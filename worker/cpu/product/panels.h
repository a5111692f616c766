/* A matrix in the order in which micro-kernels read it: panels of so many columns as theirs have, each row by
 * row, the last one filled up with zeros.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

/* Rows and columns of a matrix anywhere; steps are in floats. */
typedef struct MatrixPart {
    const float *first;
    int64_t row_step;
    int64_t column_step;
    int64_t rows;
    int64_t columns;
} MatrixPart;

/* Returns the number of floats that the panels of a matrix take. */
int64_t panels_size(int64_t rows, int64_t columns, int panel_columns);

void panels_pack(const MatrixPart *part, int panel_columns, float *to);

/* Copies a matrix to rows that are `to_step` floats apart. */
void matrix_copy(const MatrixPart *part, float *to, int64_t to_step);
