/* Resized images beside the reference kernel, whose bits they have. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }
#define TO(size, attributes)                                                                                 \
    "s = Const() dtype=int32 value=int32<2>(" size ")\n"                                                     \
    "y = ResizeBilinear(x, s) T=float32 " attributes

static const NearCase CASES[] = {
    {TO("34;46", ""), SHAPE4(2, 17, 23, 3), 0},
    {TO("34;46", "half_pixel_centers=true"), SHAPE4(2, 17, 23, 3), 0},
    {TO("34;46", "align_corners=true"), SHAPE4(1, 17, 23, 4), 0},
    {TO("5;9", "half_pixel_centers=true"), SHAPE4(3, 17, 23, 1), 0},
    {TO("40;30", "half_pixel_centers=true"), SHAPE4(1, 20, 30, 37), 0},
    {TO("1;1", "align_corners=true"), SHAPE4(1, 4, 5, 2), 0},
    {TO("3;2", ""), SHAPE4(1, 1, 1, 70), 0},
    {TO("4;4", ""), SHAPE4(0, 2, 2, 3), 0},
    {TO("4;4", ""), SHAPE4(2, 2, 2, 0), 0},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
