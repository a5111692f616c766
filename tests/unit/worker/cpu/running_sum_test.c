/* Running sums along every dimension: all bits are the reference kernel's, which sums in double too. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE(a, b, c)                                                                                       \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define AXIS(number) "axis = Const() dtype=int32 value=int32(" number ")\n"
#define ONNX AXIS("1") "y = onnx::CumSum(x, axis) T=float32 T2=int32 "
#define ALONG(number) AXIS(number) "y = Cumsum(x, axis) T=float32 Tidx=int32"

static const NearCase CASES[] = {
    {ALONG("0"), SHAPE(70, 3, 5), 0},
    {ALONG("1"), SHAPE(7, 50, 300), 0},
    {ALONG("2"), SHAPE(7, 50, 300), 0},
    {ALONG("-1") " exclusive=true", SHAPE(3, 2, 40), 0},
    {ALONG("1") " reverse=true", SHAPE(3, 20, 4), 0},
    {ALONG("1"), SHAPE(3, 0, 4), 0},
    {ALONG("1"), SHAPE(0, 3, 4), 0},
    {ONNX "exclusive=1 reverse=1", SHAPE(3, 20, 257), 0},
    {ONNX "exclusive=0 reverse=0", SHAPE(300, 20, 16), 0},
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
