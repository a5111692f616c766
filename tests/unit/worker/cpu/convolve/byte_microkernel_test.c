/* Exact sums of a convolution of bytes: the same from every instruction set. */
#include <string.h>

#include "shared/base/compiler.h"
#include "tests/support/cmocka_all.h"
#include "worker/cpu/convolve/byte_microkernel.h"

enum { FOURS = 3, TAPS = 5, LANES_MAX = BYTE_PANEL_VECTORS * BYTE_VECTOR, DEPTH = TAPS * FOURS * BYTE_FOUR };

static uint8_t image[512];
static int8_t panel[DEPTH * LANES_MAX];
static int32_t start[LANES_MAX];

static void
fill(uint32_t seed)
{
    for (size_t n = 0; n < sizeof image; n++) {
        seed = seed * 1664525U + 1013904223U;
        image[n] = n % 3 == 0 ? 255 : (uint8_t)(seed >> 24);
    }
    for (size_t n = 0; n < sizeof panel; n++) {
        seed = seed * 1664525U + 1013904223U;
        panel[n] = n < sizeof panel / 2 ? (int8_t)-128 : (int8_t)(seed >> 24);
    }
    for (int n = 0; n < LANES_MAX; n++) {
        start[n] = n % 2 == 0 ? INT32_MAX - n : -n;
    }
}

static void
check_tile(ByteMicroKernel kernel, int rows, int vectors)
{
    static const int64_t taps[TAPS] = {0, 12, 40, 44, 200};
    static const int64_t begins[BYTE_ROWS_MAX] = {0, 4, 8, 100, 104, 96};
    int32_t expected[BYTE_ROWS_MAX * LANES_MAX] = {0};
    int32_t sums[BYTE_ROWS_MAX * LANES_MAX] = {0};
    ByteTile tile = {.image = image,
        .rows = begins,
        .taps = taps,
        .tap_count = TAPS,
        .fours = FOURS,
        .panel = panel,
        .start = start,
        .sums = sums,
        .row_count = rows,
        .vectors = vectors};
    kernel(&tile);
    for (int row = 0; row < rows; row++) {
        for (int n = 0; n < vectors * BYTE_VECTOR; n++) {
            uint32_t sum = (uint32_t)start[n];
            for (int k = 0; k < DEPTH; k++) {
                int64_t at = begins[row] + taps[k / (FOURS * BYTE_FOUR)] + k % (FOURS * BYTE_FOUR);
                int8_t factor =
                    panel[(k / BYTE_FOUR * vectors * BYTE_VECTOR + n) * BYTE_FOUR + k % BYTE_FOUR];
                sum += (uint32_t)(factor * image[at]);
            }
            expected[row * vectors * BYTE_VECTOR + n] = (int32_t)sum;
        }
    }
    assert_memory_equal(sums, expected, sizeof sums);
}

/* The largest bytes would overflow sums of 16 bits, which some instructions keep. */
static void
every_instruction_set_gives_the_exact_sums(void **state)
{
    (void)state;
    static const char *const isas[] = {"plain", "avx2", "avx512", "vnni"};
    fill(5);
    for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
        ByteMicroKernel kernel = byte_microkernel_of(isas[isa]);
        for (int rows = 1; kernel != NULL && rows <= BYTE_ROWS_MAX; rows++) {
            for (int vectors = 1; vectors <= BYTE_PANEL_VECTORS; vectors++) {
                check_tile(kernel, rows, vectors);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_gives_the_exact_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
