/* Positions of extremes beside the reference kernel, which finds the same: along every dimension, of equal
 * numbers the first or the last, with NaN and infinities. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE(a, b, c)                                                                                       \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define AXIS(number) "axis = Const() dtype=int32 value=int32(" number ")\n"
#define TENSORFLOW(op, number)                                                                               \
    AXIS(number)                                                                                             \
    "i = " op "(x, axis) T=float32 Tidx=int32 output_type=int32\ny = Cast(i) SrcT=int32 DstT=float32"
#define ONNX(op, input, attributes)                                                                          \
    "i = onnx::" op "(" input ") T=float32 " attributes "\ny = Cast(i) SrcT=int64 DstT=float32"
#define EQUALS "s = Sign(x) T=float32\n"
#define ZEROS "n = Sub(x, x) T=float32\n"
#define NEGATIVE_INFINITIES ZEROS "s = Log(n) T=float32\n"
#define ALL_NAN ZEROS "s = RealDiv(n, n) T=float32\n"

static const NearCase CASES[] = {
    {ONNX("ArgMax", "x", "axis=0"), SHAPE(70, 3, 5), 0},
    {ONNX("ArgMax", "x", "axis=1 keepdims=0"), SHAPE(7, 21, 300), 0},
    {ONNX("ArgMin", "x", "axis=-1"), SHAPE(7, 21, 300), 0},
    {ONNX("ArgMin", "x", "axis=1"), SHAPE(3, 1, 4), 0},
    {EQUALS ONNX("ArgMax", "s", "axis=1 select_last_index=1"), SHAPE(9, 20, 257), 0},
    {EQUALS ONNX("ArgMin", "s", "axis=1 select_last_index=1"), SHAPE(9, 20, 257), 0},
    {EQUALS ONNX("ArgMax", "s", "axis=1"), SHAPE(9, 20, 3), 0},
    {ONNX("ArgMax", "x", "axis=1 select_last_index=1"), SHAPE(5, 4, 3), 0},
    {ONNX("ArgMax", "x", "axis=1"), SHAPE(0, 4, 3), 0},
    {TENSORFLOW("ArgMax", "1"), SHAPE(7, 21, 300), 0},
    {TENSORFLOW("ArgMin", "1"), SHAPE(7, 21, 3), 0},
    {TENSORFLOW("ArgMax", "-1"), SHAPE(2, 3, 4), 0},
    {TENSORFLOW("ArgMax", "-1"), SHAPE(7, 21, 300), 0},
    {TENSORFLOW("ArgMin", "-1"), SHAPE(7, 21, 130), 0},
    {ONNX("ArgMax", "x", "axis=-1"), SHAPE(7, 21, 64), 0},
    {EQUALS ONNX("ArgMax", "s", "axis=-1"), SHAPE(9, 20, 257), 0},
    {EQUALS ONNX("ArgMax", "s", "axis=-1 select_last_index=1"), SHAPE(9, 20, 257), 0},
    {EQUALS ONNX("ArgMin", "s", "axis=-1 select_last_index=1"), SHAPE(9, 20, 63), 0},
    {NEGATIVE_INFINITIES ONNX("ArgMax", "s", "axis=-1"), SHAPE(2, 3, 100), 0},
    {NEGATIVE_INFINITIES ONNX("ArgMax", "s", "axis=-1 select_last_index=1"), SHAPE(2, 3, 100), 0},
    {ALL_NAN ONNX("ArgMax", "s", "axis=-1"), SHAPE(2, 3, 100), 0},
    {ALL_NAN ONNX("ArgMin", "s", "axis=-1 select_last_index=1"), SHAPE(2, 3, 10), 0},
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
