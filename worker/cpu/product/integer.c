#include "worker/cpu/product/integer.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

enum { SIGN = 0x80 };

/* Copies bytes that follow each other, made signed. Returns their sum in *ret_sum, which is that of the bytes
 * raised to unsigned ones less what they were raised by. */
VECTOR_FUNCTION void
pack_row_body(const uint8_t *from, uint8_t flip, int64_t depth, int8_t *to, uint32_t *ret_sum)
{
    uint32_t raised = 0;
    _Pragma("omp simd reduction(+:raised)") for (int64_t k = 0; k < depth; k++)
    {
        uint8_t byte = from[k] ^ flip;
        to[k] = (int8_t)byte;
        raised += (uint32_t)(byte ^ SIGN);
    }
    *ret_sum = raised - SIGN * (uint32_t)depth;
}

VECTOR_VARIANTS(pack_row, (const uint8_t *from, uint8_t flip, int64_t depth, int8_t *to, uint32_t *ret_sum),
    (from, flip, depth, to, ret_sum))

static void
pack_spread_row(const uint8_t *from, int64_t step, uint8_t flip, int64_t depth, int8_t *to, uint32_t *ret_sum)
{
    uint32_t raised = 0;
    for (int64_t k = 0; k < depth; k++) {
        uint8_t byte = from[k * step] ^ flip;
        to[k] = (int8_t)byte;
        raised += (uint32_t)(byte ^ SIGN);
    }
    *ret_sum = raised - SIGN * (uint32_t)depth;
}

void
integer_pack_rows(
    const IntegerMatrix *a, int64_t first, int64_t rows, int64_t depth, int8_t *ret_rows, int32_t *ret_sums)
{
    int64_t size = integer_row_size(depth);
    uint8_t flip = a->is_signed ? 0 : SIGN;
    for (int64_t row = 0; row < rows; row++) {
        const uint8_t *from = a->first + (first + row) * a->row_step;
        int8_t *to = ret_rows + row * size;
        uint32_t sum = 0;
        if (a->column_step == 1) {
            pack_row(from, flip, depth, to, &sum);
        } else {
            pack_spread_row(from, a->column_step, flip, depth, to, &sum);
        }
        memset(to + depth, 0, (size_t)(size - depth));
        ret_sums[row] = (int32_t)sum;
    }
}

/* Four bytes of a column are one word, the first byte the lowest. */
VECTOR_FUNCTION void
pack_words_body(const uint8_t *rows, uint32_t flip, uint32_t *words, int32_t *sums)
{
    VECTOR_LOOP
    for (int n = 0; n < INTEGER_COLUMNS; n++) {
        uint32_t first = rows[n] ^ flip;
        uint32_t second = rows[INTEGER_COLUMNS + n] ^ flip;
        uint32_t third = rows[2 * INTEGER_COLUMNS + n] ^ flip;
        uint32_t fourth = rows[3 * INTEGER_COLUMNS + n] ^ flip;
        words[n] = first | second << 8 | third << 16 | fourth << 24;
        sums[n] = (int32_t)((uint32_t)sums[n] + first + second + third + fourth);
    }
}

VECTOR_VARIANTS(pack_words, (const uint8_t *rows, uint32_t flip, uint32_t *words, int32_t *sums),
    (rows, flip, words, sums))

/* Packs one group of a panel from four rows of INTEGER_COLUMNS bytes each and adds the bytes to the sums. */
static void
pack_group(const uint8_t *rows, bool is_signed, uint8_t *ret_group, int32_t *sums)
{
    uint32_t words[INTEGER_COLUMNS];
    pack_words(rows, is_signed ? SIGN : 0, words, sums);
    memcpy(ret_group, words, sizeof words);
}

/* Copies a row of a panel, whose missing columns become what packs as 0. */
static void
copy_row(const IntegerMatrix *b, int64_t row, int64_t first, int64_t columns, uint8_t *to)
{
    const uint8_t *from = b->first + row * b->row_step + first * b->column_step;
    if (b->column_step == 1) {
        memcpy(to, from, (size_t)columns);
    } else {
        for (int64_t n = 0; n < columns; n++) {
            to[n] = from[n * b->column_step];
        }
    }
    memset(to + columns, b->is_signed ? SIGN : 0, (size_t)(INTEGER_COLUMNS - columns));
}

void
integer_pack_panel(const IntegerMatrix *b, int64_t first, int64_t columns, int64_t depth, uint8_t *ret_panel,
    int32_t *ret_sums)
{
    assert(columns > 0 && columns <= INTEGER_COLUMNS);
    uint8_t rows[INTEGER_GROUP_SIZE];
    memset(ret_sums, 0, INTEGER_COLUMNS * sizeof *ret_sums);
    for (int64_t group = 0; group < integer_groups(depth); group++) {
        for (int k = 0; k < INTEGER_GROUP; k++) {
            int64_t row = group * INTEGER_GROUP + k;
            uint8_t *to = rows + (ptrdiff_t)k * INTEGER_COLUMNS;
            if (row < depth) {
                copy_row(b, row, first, columns, to);
            } else {
                memset(to, b->is_signed ? SIGN : 0, INTEGER_COLUMNS);
            }
        }
        pack_group(rows, b->is_signed, ret_panel + group * INTEGER_GROUP_SIZE, ret_sums);
    }
}

/* The terms that zero points and flipped bits have added to the sums of a row. */
typedef struct Correction {
    const int32_t *column_sums;
    const int32_t *column_zeros; /* one for each column, or one for all */
    bool has_column_zeros;
    uint32_t flipped; /* what the bytes of columns were raised by */
    uint32_t row_sum;
    uint32_t row_zero;
    uint32_t depth;
} Correction;

#define CORRECT_LOOP(zero_point)                                                                             \
    VECTOR_LOOP for (int n = 0; n < INTEGER_COLUMNS; n++)                                                    \
    {                                                                                                        \
        uint32_t zero = (uint32_t)(zero_point) + flipped;                                                    \
        uint32_t sum = (uint32_t)sums[n] - zero * row_sum;                                                   \
        sums[n] = (int32_t)(sum - row_zero * ((uint32_t)column_sums[n] - depth * zero));                     \
    }

VECTOR_FUNCTION void
correct_sums_body(const Correction *correction, int32_t *sums)
{
    const int32_t *column_sums = correction->column_sums;
    const int32_t *zeros = correction->column_zeros;
    uint32_t flipped = correction->flipped;
    uint32_t row_sum = correction->row_sum;
    uint32_t row_zero = correction->row_zero;
    uint32_t depth = correction->depth;
    int32_t first = zeros[0];
    if (correction->has_column_zeros) {
        CORRECT_LOOP(zeros[n])
    } else {
        CORRECT_LOOP(first)
    }
}

VECTOR_VARIANTS(correct_sums, (const Correction *correction, int32_t *sums), (correction, sums))

static void
correct_row(const IntegerProduct *product, int64_t row, int32_t *sums)
{
    uint32_t row_zero = (uint32_t)product->row_zeros[product->has_row_zeros ? row : 0];
    Correction correction = {.column_sums = product->column_sums,
        .column_zeros = product->column_zeros,
        .has_column_zeros = product->has_column_zeros,
        .flipped = product->is_right_signed ? SIGN : 0,
        .row_sum = (uint32_t)product->row_sums[row],
        .row_zero = row_zero - (product->is_left_signed ? 0 : SIGN),
        .depth = (uint32_t)product->depth};
    correct_sums(&correction, sums);
}

void
integer_multiply(const IntegerProduct *product, int64_t first, int count, int32_t *ret_sums)
{
    int64_t size = integer_row_size(product->depth);
    IntegerTile tile = {.a = product->rows + first * size,
        .a_step = size,
        .panel = product->panel,
        .groups = integer_groups(product->depth),
        .sums = ret_sums,
        .rows = count};
    integer_microkernel()(&tile);
    for (int row = 0; row < count; row++) {
        correct_row(product, first + row, ret_sums + (ptrdiff_t)row * INTEGER_COLUMNS);
    }
}
