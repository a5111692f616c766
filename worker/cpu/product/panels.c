#include "worker/cpu/product/panels.h"

#include <assert.h>
#include <string.h>

enum { STRIP = 16 }; /* floats of a cache line: what a strip touches of each line is used at once */

int64_t
panels_size(int64_t rows, int64_t columns, int panel_columns)
{
    return rows * ((columns + panel_columns - 1) / panel_columns) * panel_columns;
}

static int64_t
smaller_of(int64_t left, int64_t right)
{
    return left < right ? left : right;
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

void
matrix_copy(const MatrixPart *part, float *to, int64_t to_step)
{
    assert(part->columns <= to_step);
    if (part->columns == 0) {
        return; /* a matrix without elements has no memory */
    }
    if (part->column_step == 1) {
        for (int64_t row = 0; row < part->rows; row++) {
            memcpy(
                to + row * to_step, part->first + row * part->row_step, (size_t)part->columns * sizeof *to);
        }
        return;
    }
    for (int64_t row = 0; row < part->rows; row += STRIP) {
        copy_strip(part, row, smaller_of(row + STRIP, part->rows), to, to_step);
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
