/* Micro-kernels for weights of four bits: a sum has the same bits whatever is computed beside it. */
#include "shared/base/compiler.h"
#include "tests/support/cmocka_all.h"
#include "worker/cpu/product/nibble_microkernel.h"
#include "worker/cpu/vector/isa.h"

enum { ROWS = 11, COLUMNS = 7, BLOCKS = 3, BLOCK_GROUPS = 2, DEPTH = BLOCKS * BLOCK_GROUPS * NIBBLE_GROUP };

static float left[ROWS][DEPTH];
static uint8_t weights[COLUMNS][DEPTH / 2];
static float scales[COLUMNS][BLOCKS];
static const uint8_t zeros[(BLOCKS + 1) / 2] = {0x3A, 0x07};

static void
fill(void)
{
    uint32_t state = 7;
    float row[DEPTH];
    for (int n = 0; n < ROWS; n++) {
        for (int k = 0; k < DEPTH; k++) {
            state = state * 1664525U + 1013904223U;
            row[k] = (float)(state >> 8) * 0x1p-22F - 2;
        }
        nibble_arrange(row, DEPTH - 5, DEPTH, left[n]);
    }
    for (int n = 0; n < COLUMNS * DEPTH / 2; n++) {
        state = state * 1664525U + 1013904223U;
        weights[n / (DEPTH / 2)][n % (DEPTH / 2)] = (uint8_t)(state >> 24);
    }
    for (int n = 0; n < COLUMNS * BLOCKS; n++) {
        scales[n / BLOCKS][n % BLOCKS] = 0.1F * (float)(n % 5) - 0.17F;
    }
}

/* Computes all sums with micro-kernels of at most so many rows and columns. */
static void
multiply(int rows_max, int columns_max, float *ret_sums)
{
    NibbleShape shape;
    for (int row = 0; row < ROWS; row += shape.rows) {
        for (int column = 0; column < COLUMNS; column += shape.columns) {
            int rows = ROWS - row < rows_max ? ROWS - row : rows_max;
            int columns = COLUMNS - column < columns_max ? COLUMNS - column : columns_max;
            shape = nibble_microkernel(rows, columns);
            assert_true(shape.rows <= rows && shape.columns <= columns);
            NibbleTile tile = {.a = left[row],
                .a_step = DEPTH,
                .blocks = BLOCKS,
                .block_groups = BLOCK_GROUPS,
                .sums = ret_sums + row * COLUMNS + column,
                .sums_step = COLUMNS};
            for (int n = 0; n < shape.columns; n++) {
                tile.weights[n] = (NibbleRow){weights[column + n], scales[column + n], zeros};
            }
            shape.kernel(&tile);
        }
    }
}

static void
a_sum_alone_has_the_bits_that_it_has_among_others(void **state)
{
    (void)state;
    static const CpuIsa isas[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};
    float expected[ROWS * COLUMNS] = {0};
    fill();
    multiply(1, 1, expected);
    assert_true(expected[0] != 0);
    for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
        cpu_isa_limit(isas[isa]);
        for (int rows = 1; rows <= NIBBLE_ROWS_MAX; rows++) {
            float sums[ROWS * COLUMNS] = {0};
            multiply(rows, rows % NIBBLE_COLUMNS_MAX + 1, sums);
            assert_memory_equal(sums, expected, sizeof expected);
        }
    }
    cpu_isa_limit(CPU_ISA_AVX512);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_alone_has_the_bits_that_it_has_among_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
