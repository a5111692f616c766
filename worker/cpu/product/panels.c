#include "worker/cpu/product/panels.h"

#include <assert.h>
#include <string.h>

#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum { STRIP = 16 }; /* floats of a cache line: what a strip touches of each line is used at once */

int64_t
panels_size(int64_t rows, int64_t columns, int panel_columns)
{
    return rows * ((columns + panel_columns - 1) / panel_columns) * panel_columns;
}

static void
copy_strip(const MatrixPart *part, int64_t first, int64_t last, float *to, int64_t to_step)
{
    for (int64_t column = 0; column < part->columns; column++) {
        const float *from = part->first + column * part->column_step;
        for (int64_t row = first; row < last; row++) {
            to[row * to_step + column] = from[row * part->row_step];
        }
    }
}

enum { SQUARE = 8 };
typedef float Eight __attribute__((vector_size(SQUARE * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef int32_t EightPlaces __attribute__((vector_size(SQUARE * sizeof(int32_t))));

#ifdef __clang__
#define CHOOSE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CHOOSE(a, b, ...) __builtin_shuffle(a, b, (EightPlaces){__VA_ARGS__})
#endif

/* Transposes the upper or the lower half of a square in three stages: pairs of rows, fours, and all eight. */
#define FOUR_ROWS(a, b, c, d, low, high)                                                                     \
    Eight low##_0 = CHOOSE(a, b, 0, 8, 1, 9, 4, 12, 5, 13);                                                  \
    Eight low##_1 = CHOOSE(a, b, 2, 10, 3, 11, 6, 14, 7, 15);                                                \
    Eight high##_0 = CHOOSE(c, d, 0, 8, 1, 9, 4, 12, 5, 13);                                                 \
    Eight high##_1 = CHOOSE(c, d, 2, 10, 3, 11, 6, 14, 7, 15);                                               \
    Eight low[] = {                                                                                          \
        CHOOSE(low##_0, high##_0, 0, 1, 8, 9, 4, 5, 12, 13),                                                 \
        CHOOSE(low##_0, high##_0, 2, 3, 10, 11, 6, 7, 14, 15),                                               \
        CHOOSE(low##_1, high##_1, 0, 1, 8, 9, 4, 5, 12, 13),                                                 \
        CHOOSE(low##_1, high##_1, 2, 3, 10, 11, 6, 7, 14, 15),                                               \
    };

VECTOR_FUNCTION void
transpose_square(const float *from, int64_t step, float *to, int64_t to_step)
{
    Eight rows[SQUARE];
    for (int64_t n = 0; n < SQUARE; n++) {
        rows[n] = *(const Eight *)(from + n * step);
    }
    FOUR_ROWS(rows[0], rows[1], rows[2], rows[3], upper, upper_rest)
    FOUR_ROWS(rows[4], rows[5], rows[6], rows[7], lower, lower_rest)
    for (int64_t n = 0; n < SQUARE / 2; n++) {
        *(Eight *)(to + n * to_step) = CHOOSE(upper[n], lower[n], 0, 1, 2, 3, 8, 9, 10, 11);
        *(Eight *)(to + (n + SQUARE / 2) * to_step) = CHOOSE(upper[n], lower[n], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Copies columns of the source, which lie side by side there, as squares; counts are multiples of SQUARE. */
VECTOR_FUNCTION void
transpose_squares_body(
    const float *from, int64_t step, int64_t rows, int64_t columns, float *to, int64_t to_step)
{
    for (int64_t column = 0; column < columns; column += SQUARE) {
        for (int64_t row = 0; row < rows; row += SQUARE) {
            transpose_square(from + column * step + row, step, to + row * to_step + column, to_step);
        }
    }
}
VECTOR_VARIANTS(transpose_squares,
    (const float *from, int64_t step, int64_t rows, int64_t columns, float *to, int64_t to_step),
    (from, step, rows, columns, to, to_step))

static void
copy_transposed(const MatrixPart *part, float *to, int64_t to_step)
{
    int64_t rows = part->rows / SQUARE * SQUARE;
    MatrixPart right = *part;
    right.columns = part->columns % SQUARE;
    int64_t columns = part->columns - right.columns;
    right.first += columns * part->column_step;
    MatrixPart below = *part;
    below.columns = columns;
    transpose_squares(part->first, part->column_step, rows, columns, to, to_step);
    copy_strip(&below, rows, part->rows, to, to_step);
    for (int64_t row = 0; row < part->rows; row += STRIP) {
        copy_strip(&right, row, smaller_of(row + STRIP, part->rows), to + columns, to_step);
    }
}

/* A copy whose length the compiler knows is no call. */
static void
copy_lines(const MatrixPart *part, float *to, int64_t to_step)
{
    enum { PANEL = 32 };
    if (part->columns == PANEL) {
        for (int64_t row = 0; row < part->rows; row++) {
            memcpy(to + row * to_step, part->first + row * part->row_step, PANEL * sizeof *to);
        }
        return;
    }
    for (int64_t row = 0; row < part->rows; row++) {
        memcpy(to + row * to_step, part->first + row * part->row_step, (size_t)part->columns * sizeof *to);
    }
}

void
matrix_copy(const MatrixPart *part, float *to, int64_t to_step)
{
    assert(part->columns <= to_step);
    if (part->columns == 0) {
        return; /* a matrix without elements has no memory */
    }
    if (part->column_step == 1) {
        copy_lines(part, to, to_step);
    } else if (part->row_step == 1) {
        copy_transposed(part, to, to_step);
    } else {
        for (int64_t row = 0; row < part->rows; row += STRIP) {
            copy_strip(part, row, smaller_of(row + STRIP, part->rows), to, to_step);
        }
    }
}

void
panels_pack(const MatrixPart *part, int panel_columns, float *to)
{
    for (int64_t column = 0; column < part->columns; column += panel_columns) {
        MatrixPart panel = *part;
        panel.first += column * part->column_step;
        panel.columns = smaller_of(panel_columns, part->columns - column);
        if (panel.columns < panel_columns) {
            memset(to, 0, (size_t)(part->rows * panel_columns) * sizeof *to);
        }
        matrix_copy(&panel, to, panel_columns);
        to += part->rows * panel_columns;
    }
}
