/* Products of matrices of bytes with exact sums in 32 bits, which wrap: sum[m][n] = Σ (a[m][k] - a_zero[m]) ×
 * (b[k][n] - b_zero[n]). Bytes are signed or not; the left matrix is made signed and the right one unsigned
 * by flipping their highest bits, and what that and the zero points add is subtracted at the end.
 *
 * The caller packs tiles: rows of the left matrix, panels of INTEGER_COLUMNS columns of the right one.
 *
 * Ownership: all memory is the caller's.
 * Threads:   any. */
#pragma once

#include <stdbool.h>

#include "worker/cpu/product/integer_microkernel.h"

/* Bytes of a matrix anywhere; steps are in bytes. */
typedef struct IntegerMatrix {
    const uint8_t *first;
    int64_t row_step;
    int64_t column_step;
    bool is_signed;
} IntegerMatrix;

static inline int64_t
integer_groups(int64_t depth)
{
    return (depth + INTEGER_GROUP - 1) / INTEGER_GROUP;
}

/* Bytes of a packed row, and of a packed panel. */
static inline int64_t
integer_row_size(int64_t depth)
{
    return integer_groups(depth) * INTEGER_GROUP;
}

static inline int64_t
integer_panel_size(int64_t depth)
{
    return integer_groups(depth) * INTEGER_GROUP_SIZE;
}

/* Packs `rows` rows from row `first` on; *ret_sums get the sums of the packed bytes. */
void integer_pack_rows(
    const IntegerMatrix *a, int64_t first, int64_t rows, int64_t depth, int8_t *ret_rows, int32_t *ret_sums);

/* Packs at most INTEGER_COLUMNS columns from column `first` on; those that are missing are zeros. */
void integer_pack_panel(const IntegerMatrix *b, int64_t first, int64_t columns, int64_t depth,
    uint8_t *ret_panel, int32_t *ret_sums);

/* Packed rows by a packed panel. */
typedef struct IntegerProduct {
    const int8_t *rows;
    const int32_t *row_sums;
    const int32_t *row_zeros; /* one for each row, or one for all */
    const uint8_t *panel;
    const int32_t *column_sums;
    const int32_t *column_zeros;
    bool has_row_zeros; /* one for each */
    bool has_column_zeros;
    bool is_left_signed;
    bool is_right_signed;
    int64_t depth;
} IntegerProduct;

/* Computes `count` rows, at most INTEGER_ROWS_MAX, from packed row `first` on, into rows of INTEGER_COLUMNS.
 */
void integer_multiply(const IntegerProduct *product, int64_t first, int count, int32_t *ret_sums);
