#include "worker/cpu/onednn/transpose.h"

#include <string.h>

enum { BLOCK = 4 };

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourIndices __attribute__((vector_size(16)));

static void
transpose_block(const float *input, int64_t input_step, float *output, int64_t output_step)
{
    static const FourIndices low = {0, 4, 1, 5};
    static const FourIndices high = {2, 6, 3, 7};
    static const FourIndices first = {0, 1, 4, 5};
    static const FourIndices second = {2, 3, 6, 7};
    Four rows[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        memcpy(&rows[i], input + i * input_step, sizeof rows[i]);
    }
    const Four a = __builtin_shuffle(rows[0], rows[1], low);
    const Four b = __builtin_shuffle(rows[2], rows[3], low);
    const Four c = __builtin_shuffle(rows[0], rows[1], high);
    const Four d = __builtin_shuffle(rows[2], rows[3], high);
    const Four columns[BLOCK] = {
        __builtin_shuffle(a, b, first),
        __builtin_shuffle(a, b, second),
        __builtin_shuffle(c, d, first),
        __builtin_shuffle(c, d, second),
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
    const int64_t whole_rows = rows / BLOCK * BLOCK;
    const int64_t whole_columns = columns / BLOCK * BLOCK;
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
