#include "worker/cpu/onednn/transpose.h"

#include <string.h>

enum { BLOCK = 4 };

typedef float Four __attribute__((vector_size(16)));

static void
transpose_block(const float *input, int64_t input_step, float *output, int64_t output_step)
{
    Four rows[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        memcpy(&rows[i], input + i * input_step, sizeof rows[i]);
    }
    Four a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    Four b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    Four c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    Four d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    const Four columns[BLOCK] = {
        __builtin_shufflevector(a, b, 0, 1, 4, 5),
        __builtin_shufflevector(a, b, 2, 3, 6, 7),
        __builtin_shufflevector(c, d, 0, 1, 4, 5),
        __builtin_shufflevector(c, d, 2, 3, 6, 7),
    };
    for (int i = 0; i < BLOCK; i++) {
        memcpy(output + i * output_step, &columns[i], sizeof columns[i]);
    }
}

static void
transpose_rest(
    const float *input, int64_t rows, int64_t columns, int64_t input_step, float *output, int64_t output_step)
{
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < columns; column++) {
            output[column * output_step + row] = input[row * input_step + column];
        }
    }
}

void
transpose(
    const float *input, int64_t rows, int64_t columns, int64_t input_step, float *output, int64_t output_step)
{
    int64_t whole_rows = rows / BLOCK * BLOCK;
    int64_t whole_columns = columns / BLOCK * BLOCK;
    for (int64_t column = 0; column < whole_columns; column += BLOCK) {
        for (int64_t row = 0; row < whole_rows; row += BLOCK) {
            transpose_block(input + row * input_step + column, input_step,
                output + column * output_step + row, output_step);
        }
    }
    transpose_rest(input + whole_columns, whole_rows, columns - whole_columns, input_step,
        output + whole_columns * output_step, output_step);
    transpose_rest(input + whole_rows * input_step, rows - whole_rows, columns, input_step,
        output + whole_rows, output_step);
}
