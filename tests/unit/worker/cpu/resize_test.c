/* Resized planes beside the reference kernel, which computes in double. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }
#define BY(scales, attributes)                                                                               \
    "s = Const() dtype=float32 value=float32<4>(1;1;" scales ")\n"                                           \
    "y = onnx::Resize(x, , s) T1=float32 T2=float32 " attributes

static const NearCase CASES[] = {
    {BY("2;2", "mode='linear'"), SHAPE4(2, 3, 17, 23), 0x1p-20F},
    {BY("2;2", "mode='linear' coordinate_transformation_mode='align_corners'"), SHAPE4(1, 3, 17, 23),
        0x1p-20F},
    {BY("2;2", "mode='linear' coordinate_transformation_mode='asymmetric'"), SHAPE4(1, 3, 5, 4), 0x1p-20F},
    {BY("0.6;0.3", "mode='linear'"), SHAPE4(1, 3, 17, 23), 0x1p-20F},
    {BY("0.6;0.3", "mode='linear' antialias=1"), SHAPE4(1, 3, 17, 23), 0x1p-20F},
    {BY("1.7;2.3", "mode='cubic'"), SHAPE4(1, 3, 17, 23), 0x1p-18F},
    {BY("1.7;2.3", "mode='cubic' exclude_outside=1"), SHAPE4(1, 3, 6, 7), 0x1p-18F},
    {BY("1;2", "mode='linear'"), SHAPE4(1, 3, 17, 23), 0x1p-20F},
    {BY("3;1", "mode='linear'"), SHAPE4(1, 30, 17, 230), 0x1p-20F},
    {BY("2;2", "mode='linear'"), SHAPE4(1, 3, 1, 1), 0x1p-20F},
    {BY("2;2", "mode='linear'"), SHAPE4(1, 0, 5, 4), 0x1p-20F},
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
