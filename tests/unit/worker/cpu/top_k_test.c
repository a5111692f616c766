/* The k best of each line beside the reference kernel, which finds the same: along every dimension, of equal
 * numbers the first, with NaN, infinities and zeros of both signs. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE(a, b, c)                                                                                       \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define K(number) "k = Const() dtype=int64 value=int64<1>(" number ")\n"
#define VALUES(input, attributes)                                                                            \
    "t = onnx::TopK(" input ", k) T=float32 " attributes "\ny = Neg(t) T=float32"
#define PLACES(input, attributes)                                                                            \
    "t = onnx::TopK(" input ", k) T=float32 " attributes "\ny = Cast(t:1) SrcT=int64 DstT=float32"
#define EQUALS "r = Rint(x) T=float32\n"

static const NearCase CASES[] = {
    {K("5") VALUES("x", "axis=-1"), SHAPE(7, 21, 300), 0},
    {K("5") PLACES("x", "axis=-1"), SHAPE(7, 21, 300), 0},
    {K("1") PLACES("x", "axis=1"), SHAPE(7, 21, 30), 0},
    {EQUALS K("9") PLACES("r", "axis=2"), SHAPE(9, 5, 257), 0},
    {EQUALS K("9") PLACES("r", "axis=2 largest=0"), SHAPE(9, 5, 257), 0},
    {EQUALS K("9") VALUES("r", "axis=0 largest=0"), SHAPE(70, 3, 5), 0},
    {EQUALS K("70") PLACES("r", "axis=0"), SHAPE(70, 3, 5), 0},
    {EQUALS K("200") PLACES("r", "axis=2 largest=0"), SHAPE(2, 3, 201), 0},
    {K("0") VALUES("x", "axis=2"), SHAPE(2, 3, 4), 0},
    {K("2") VALUES("x", "axis=2"), SHAPE(0, 3, 4), 0},
    {EQUALS "k = Const() dtype=int32 value=int32(4)\n"
            "t = TopKV2(r, k) T=float32 sorted=true\ny = Cast(t:1) SrcT=int32 DstT=float32",
        SHAPE(3, 40, 50), 0},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
    };
    return cmocka_run_group_tests_name("worker/cpu/top_k", tests, NULL, NULL);
}
