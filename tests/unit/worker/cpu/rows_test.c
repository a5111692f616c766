/* Reductions, softmax and normalisations beside the reference kernels, in all ways in which dimensions
 * can lie. Both keep sums in double, so that only the last roundings differ. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define AXES(values) "axes = Const() dtype=int32 value=int32" values "\n"
#define SHAPE2(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }

static const NearCase CASES[] = {
    {AXES("(1)") "y = Sum(x, axes) T=float32 Tidx=int32", SHAPE2(7, 1000), 0x1p-23F},
    {AXES("(1)") "y = Mean(x, axes) T=float32 Tidx=int32", SHAPE2(300, 333), 0x1p-23F},
    {AXES("(0)") "y = Sum(x, axes) T=float32 Tidx=int32", SHAPE2(1000, 301), 0x1p-23F},
    {AXES("(1)") "y = Mean(x, axes) T=float32 Tidx=int32 keep_dims=true", SHAPE3(5, 31, 70), 0x1p-23F},
    {AXES("<2>(0;2)") "y = Sum(x, axes) T=float32 Tidx=int32", SHAPE3(5, 31, 70), 0x1p-23F},
    {AXES("<2>(0;1)") "y = Max(x, axes) T=float32 Tidx=int32", SHAPE3(5, 31, 70), 0},
    {AXES("<2>(1;2)") "y = Min(x, axes) T=float32 Tidx=int32", SHAPE3(5, 31, 70), 0},
    {AXES("<2>(0;1)") "y = Max(x, axes) T=float32 Tidx=int32", SHAPE2(1, 1), 0},
    {AXES("(0)") "y = EuclideanNorm(x, axes) T=float32 Tidx=int32", SHAPE2(40, 3), 0x1p-23F},
    {AXES("(1)") "y = Sum(x, axes) T=float32 Tidx=int32", SHAPE2(3, 0), 0},
    {AXES("(1)") "y = Sum(x, axes) T=float32 Tidx=int32", SHAPE2(0, 3), 0},
    {"y = onnx::ReduceL1(x) T=float32 keepdims=0", SHAPE3(2, 3, 4), 0x1p-23F},
    {"y = onnx::ReduceSumSquare(x) T=float32 keepdims=1", SHAPE3(20, 30, 4), 0x1p-23F},
    {"y = Softmax(x) T=float32", SHAPE2(300, 197), 0x1p-21F},
    {"y = Softmax(x) T=float32", SHAPE2(3, 1), 0x1p-21F},
    {"y = Softmax(x) T=float32", SHAPE2(9, 64), 0x1p-21F},
    {"y = Softmax(x) T=float32", SHAPE2(9, 63), 0x1p-21F},
    {"y = LogSoftmax(x) T=float32", SHAPE2(40, 6625), 0x1p-21F},
    {"y = LogSoftmax(x) T=float32", SHAPE2(40, 10), 0x1p-21F},
    {"y = onnx::Softmax(x) T=float32 axis=1", SHAPE3(4, 29, 301), 0x1p-21F},
    {"y = onnx::LogSoftmax(x) T=float32 axis=0", SHAPE3(40, 29, 3), 0x1p-21F},
    {"s = Const() dtype=float32 value=float32<768>(0.5;1.5;-2)\nb = Const() dtype=float32 "
     "value=float32<768>(0.25;3)\n"
     "y = onnx::LayerNormalization(x, s, b) T=float32",
        SHAPE2(128, 768), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<1,1,70>(0.5;1.5;-2)\ny = onnx::LayerNormalization(x, s) "
     "T=float32",
        SHAPE3(5, 31, 70), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<31,1>(0.5;1.5;-2)\ny = onnx::LayerNormalization(x, s) "
     "T=float32",
        SHAPE3(5, 31, 31), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<31,7>(0.5;1.5;-2)\ny = onnx::LayerNormalization(x, s) "
     "T=float32 axis=1",
        SHAPE3(5, 31, 7), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<768>(0.5;1.5;-2)\ny = onnx::RMSNormalization(x, s) "
     "T=float32 V=float32",
        SHAPE2(128, 768), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<31,7>(0.5;1.5;-2)\ny = onnx::RMSNormalization(x, s) "
     "T=float32 V=float32 axis=1",
        SHAPE3(5, 31, 7), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<31,1>(0.5;1.5;-2)\ny = onnx::RMSNormalization(x, s) "
     "T=float32 V=float32",
        SHAPE3(5, 31, 31), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<12>(0.5;1.5;-2)\nb = Const() dtype=float32 "
     "value=float32<12>(0.25;3)\ny = onnx::GroupNormalization(x, s, b) T=float32 num_groups=3",
        SHAPE3(5, 12, 1000), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<3>(0.5;1.5;-2)\nb = Const() dtype=float32 "
     "value=float32<3>(0.25;3)\n"
     "y = onnx::GroupNormalization(x, s, b) T=float32 num_groups=3 scales_groups=1",
        SHAPE3(5, 12, 7), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<12>(0.5;1.5;-2)\nb = Const() dtype=float32 "
     "value=float32<12>(0.25;3)\ny = onnx::InstanceNormalization(x, s, b) T=float32",
        SHAPE3(5, 12, 1000), 0x1p-20F},
    {"y = onnx::LRN(x) T=float32 size=5", SHAPE3(2, 70, 300), 0x1p-22F},
    {"y = onnx::LRN(x) T=float32 size=4 alpha=0.5 beta=0.5 bias=2.0", SHAPE3(2, 3, 49), 0x1p-22F},
    {"y = onnx::LRN(x) T=float32 size=64 alpha=10.0 beta=1.0", SHAPE3(1, 31, 7), 0x1p-22F},
    {"y = onnx::LRN(x) T=float32 size=5", SHAPE2(3, 600), 0x1p-22F},
    {"y = onnx::LRN(x) T=float32 size=3 beta=0.6", SHAPE3(2, 7, 40), 0},
    {"y = onnx::LRN(x) T=float32 size=66", SHAPE3(2, 7, 40), 0},
    {"y = onnx::LRN(x) T=float32 size=9223372036854775807", SHAPE3(2, 7, 40), 0},
    {"y = onnx::LRN(x) T=float32 size=5", SHAPE3(3, 0, 4), 0},
    {"y = LRN(x) T=float32 depth_radius=2 beta=0.75", SHAPE3(5, 31, 70), 0x1p-22F},
    {"y = LRN(x) T=float32 depth_radius=31 alpha=0.1", SHAPE2(3, 700), 0x1p-22F},
    {"y = LRN(x) T=float32 depth_radius=0 beta=1.0", SHAPE2(3, 257), 0x1p-22F},
    {"y = LRN(x) T=float32 depth_radius=32", SHAPE2(3, 700), 0},
};

/* Rows that are summed first: sums of large numbers are infinite here, and not in the reference's double. */
static const NearCase SUM_CASES[] = {
    {"s = Const() dtype=float32 value=float32<768>(0.5;1.5;-2)\nb = Const() dtype=float32 "
     "value=float32<768>(0.25;3)\ny = com.microsoft::SkipLayerNormalization(x, x, s, b, s) T=float32",
        SHAPE2(128, 768), 0x1p-20F},
    {"s = Const() dtype=float32 value=float32<70>(0.5;1.5;-2)\n"
     "y = com.microsoft::SkipSimplifiedLayerNormalization(x, x, s) T=float32",
        SHAPE3(5, 31, 70), 0x1p-20F},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(results_are_near_the_reference_kernels, SUM_CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, SUM_CASES),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
