/* Exact sums of products of bytes: the same from every instruction set. */
#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"
#include "worker/cpu/product/integer.h"

enum { DEPTH = 103, ROWS = 13, COLUMNS = 61 };

static uint8_t left[ROWS][DEPTH];
static uint8_t right[DEPTH][COLUMNS];

static void
fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    for (size_t n = 0; n < count; n++) {
        seed = seed * 1664525U + 1013904223U;
        bytes[n] = (n % 7) == 0 ? 255 : (n % 11) == 0 ? 128 : (uint8_t)(seed >> 24);
    }
}

static int32_t
number(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

static int32_t
expected_sum(int row, int column, bool is_left_signed, bool is_right_signed, int32_t a_zero, int32_t b_zero)
{
    int32_t sum = 0;
    for (int k = 0; k < DEPTH; k++) {
        sum += (number(left[row][k], is_left_signed) - a_zero) *
               (number(right[k][column], is_right_signed) - b_zero);
    }
    return sum;
}

static void
check_signs(bool is_left_signed, bool is_right_signed)
{
    static int8_t rows[ROWS * (DEPTH + INTEGER_GROUP)];
    static uint8_t panel[(DEPTH + INTEGER_GROUP) * INTEGER_COLUMNS];
    int32_t row_sums[ROWS];
    int32_t column_sums[INTEGER_COLUMNS];
    int32_t row_zeros[ROWS];
    int32_t column_zeros[INTEGER_COLUMNS] = {0};
    IntegerMatrix a = {&left[0][0], DEPTH, 1, is_left_signed};
    IntegerMatrix b = {&right[0][0], COLUMNS, 1, is_right_signed};
    for (int n = 0; n < INTEGER_COLUMNS; n++) {
        row_zeros[n % ROWS] = n % ROWS - 3;
        column_zeros[n] = n - 20;
    }
    integer_pack_rows(&a, 0, ROWS, DEPTH, rows, row_sums);
    integer_pack_panel(&b, 0, COLUMNS, DEPTH, panel, column_sums);
    IntegerProduct product = {.rows = rows,
        .row_sums = row_sums,
        .row_zeros = row_zeros,
        .panel = panel,
        .column_sums = column_sums,
        .column_zeros = column_zeros,
        .has_row_zeros = true,
        .has_column_zeros = true,
        .is_left_signed = is_left_signed,
        .is_right_signed = is_right_signed,
        .depth = DEPTH};
    for (int first = 0; first < ROWS; first++) {
        int count = ROWS - first < INTEGER_ROWS_MAX ? ROWS - first : INTEGER_ROWS_MAX;
        int32_t sums[INTEGER_ROWS_MAX * INTEGER_COLUMNS];
        integer_multiply(&product, first, count, sums);
        for (int n = 0; n < count * COLUMNS; n++) {
            int row = n / COLUMNS;
            int column = n % COLUMNS;
            assert_int_equal(sums[row * INTEGER_COLUMNS + column],
                expected_sum(first + row, column, is_left_signed, is_right_signed, row_zeros[first + row],
                    column_zeros[column]));
        }
    }
}

static void
sums_of_bytes_of_either_sign_are_exact(void **state)
{
    (void)state;
    fill(&left[0][0], sizeof left, 1);
    fill(&right[0][0], sizeof right, 2);
    for (int signs = 0; signs < 4; signs++) {
        check_signs((signs & 1) != 0, (signs & 2) != 0);
    }
}

/* The largest bytes would overflow sums of 16 bits, which some instructions keep. */
static void
every_instruction_set_gives_the_same_sums(void **state)
{
    (void)state;
    static const char *const isas[] = {"avx2", "avx512", "vnni"};
    static int8_t rows[INTEGER_ROWS_MAX * DEPTH * INTEGER_GROUP];
    static uint8_t panel[DEPTH * INTEGER_GROUP_SIZE];
    fill((uint8_t *)rows, sizeof rows, 3);
    fill(panel, sizeof panel, 4);
    memset(rows, -128, DEPTH);
    for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
        for (int count = 1; count <= INTEGER_ROWS_MAX; count++) {
            int32_t sums[2][INTEGER_ROWS_MAX * INTEGER_COLUMNS];
            IntegerTile tile = {.a = rows,
                .a_step = (int64_t)DEPTH * INTEGER_GROUP,
                .panel = panel,
                .groups = DEPTH,
                .sums = sums[0],
                .rows = count};
            IntegerMicroKernel kernel = integer_microkernel_of(isas[isa]);
            integer_microkernel_of("plain")(&tile);
            tile.sums = sums[1];
            if (kernel != NULL) {
                kernel(&tile);
                assert_memory_equal(sums[0], sums[1], (size_t)count * INTEGER_COLUMNS * sizeof(int32_t));
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_bytes_of_either_sign_are_exact),
        cmocka_unit_test(every_instruction_set_gives_the_same_sums),
    };
    return cmocka_run_group_tests_name("cpu/product/integer", tests, NULL, NULL);
}
