/* Pools of floats and bytes beside the reference kernels: both layouts, every kind of padding, strides
 * and dilations, windows that are all padding on one side or a whole plane, and shapes that the fast kernels
 * leave to the reference. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define IMAGES(n, a, b, c)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { n, a, b, c }                                                                    \
    }
#define VOLUMES(n, a, b, c, d)                                                                               \
    {                                                                                                        \
        .rank = 5, .dims = { n, a, b, c, d }                                                                 \
    }
#define SERIES(n, a, b)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { n, a, b }                                                                       \
    }

/* Sums of a mean are kept in double, in another order than the reference's. */
#define LAST_BIT 0x1p-23F

static const NearCase CASES[] = {
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", IMAGES(2, 5, 112, 112),
        0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[2,2] strides=[2,2]", IMAGES(1, 3, 33, 30), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,2] strides=[9223372036854775807,9223372036854775807] "
     "pads=[2,1,0,0]",
        IMAGES(1, 3, 5, 7), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,2] strides=[3,1] dilations=[2,3] pads=[0,2,1,0]",
        IMAGES(1, 4, 19, 23), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,3] strides=[2,2] ceil_mode=1", IMAGES(1, 2, 12, 14), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[5] strides=[1] pads=[2,2]", SERIES(2, 3, 40), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[1073741824] pads=[1073741823,0]", SERIES(2, 3, 40), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[1073741824,1073741824] "
     "pads=[1073741823,1073741823,0,0]",
        IMAGES(1, 3, 9, 17), 0},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[1073741824,1073741824] "
     "pads=[1073741823,1073741823,0,0]",
        IMAGES(1, 3, 9, 17), LAST_BIT},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[2,2,2]", {.rank = 5, .dims = {1, 2, 4, 5, 6}}, 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[2,2,2] strides=[2,2,2]", VOLUMES(2, 3, 8, 9, 31), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,3,3] strides=[1,2,2] pads=[1,1,1,1,1,1]",
        VOLUMES(1, 5, 6, 12, 40), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[2,3,4] dilations=[3,2,2] pads=[1,2,3,0,1,2] ceil_mode=1 "
     "strides=[2,3,3]",
        VOLUMES(1, 2, 7, 9, 15), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[1073741824,2,2] pads=[1073741823,0,0,0,0,0]",
        VOLUMES(1, 2, 3, 4, 5), 0},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]", IMAGES(1, 7, 56, 56), LAST_BIT},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1",
        IMAGES(2, 2, 9, 11), LAST_BIT},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[3,3] strides=[2,2] ceil_mode=1 count_include_pad=1 "
     "pads=[1,1,1,1]",
        IMAGES(1, 2, 12, 14), LAST_BIT},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[4] strides=[3] auto_pad='SAME_UPPER'",
        SERIES(1, 2, 5000), LAST_BIT},
    /* Lines shorter than vectors, alone and beside others, windows of common and other sizes. */
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]", IMAGES(2, 90, 14, 14), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[5,5] pads=[2,2,2,2]", IMAGES(1, 70, 20, 20), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[2,2] strides=[2,2]", IMAGES(3, 200, 7, 7), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", IMAGES(1, 3, 1, 1), 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[4,7] strides=[3,2] pads=[3,6,3,6]", IMAGES(1, 50, 9, 17),
        0},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[2,2] strides=[2,2]", IMAGES(2, 300, 7, 9), LAST_BIT},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[5,5] pads=[2,2,2,2]", IMAGES(1, 60, 13, 13), LAST_BIT},
    /* Planes of many rows. */
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]", IMAGES(2, 3, 80, 12), 0},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]", IMAGES(2, 3, 70, 9), LAST_BIT},
    /* Only who reads the indices makes them computed. */
    {"p = onnx::MaxPool(x) T=float32 kernel_shape=[2,2]\nc = Cast(p:1) SrcT=int64 DstT=float32\ny = Neg(c) "
     "T=float32",
        IMAGES(1, 2, 12, 14), 0},
    {"y = onnx::GlobalAveragePool(x) T=float32", IMAGES(2, 96, 14, 14), LAST_BIT},
    {"y = onnx::GlobalMaxPool(x) T=float32", SERIES(2, 9, 100), 0},
    {"y = onnx::GlobalAveragePool(x) T=float32", SERIES(1, 3, 1), 0},
    {"y = onnx::GlobalAveragePool(x) T=float32", IMAGES(3, 5, 7, 7), LAST_BIT},
    {"y = onnx::GlobalMaxPool(x) T=float32", {.rank = 5, .dims = {2, 3, 5, 6, 7}}, 0},
    {"y = onnx::MaxPool(x) T=float32 kernel_shape=[14,30] strides=[1,1]", IMAGES(1, 6, 14, 30), 0},
    {"y = onnx::AveragePool(x) T=float32 kernel_shape=[7,7] strides=[7,7]", IMAGES(2, 40, 7, 7), LAST_BIT},
    {"y = onnx::GlobalAveragePool(x) T=float32", {.rank = 5, .dims = {1, 2, 3, 4, 5}}, LAST_BIT},
    {"y = MaxPool(x) T=float32 ksize=[1,3,3,1] strides=[1,2,2,1] padding='SAME'", IMAGES(2, 15, 14, 300), 0},
    {"y = MaxPool(x) T=float32 ksize=[1,2,2,1] strides=[1,2,2,1] padding='VALID'", IMAGES(1, 8, 9, 3), 0},
    {"y = AvgPool(x) T=float32 ksize=[1,3,3,1] strides=[1,1,1,1] padding='SAME'", IMAGES(1, 15, 14, 5),
        LAST_BIT},
    {"y = AvgPool(x) T=float32 ksize=[1,7,7,1] strides=[1,1,1,1] padding='VALID'", IMAGES(1, 7, 7, 600),
        LAST_BIT},
};

/* The input as bytes q, from -128 or 0 on. */
#define BYTES(dtype, zero)                                                                                   \
    "s = Const() dtype=float32 value=float32(0.0625)\nz = Const() dtype=" dtype " value=" dtype "(" zero     \
    ")\nq = onnx::QuantizeLinear(x, s, z) T1=float32 T2=float32 T3=" dtype "\n"

static const NearCase UNSIGNED_BYTES[] = {
    {BYTES("uint8", "130") "y = onnx::MaxPool(q) T=uint8 kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]",
        IMAGES(2, 5, 48, 50), 0},
    {BYTES("uint8", "9") "y = onnx::MaxPool(q) T=uint8 kernel_shape=[2,2] strides=[2,2]",
        IMAGES(1, 70, 7, 71), 0},
    {BYTES("uint8", "0") "y = onnx::MaxPool(q) T=uint8 kernel_shape=[14,30]", IMAGES(1, 6, 14, 30), 0},
};

static const NearCase SIGNED_BYTES[] = {
    {BYTES("int8", "-9") "y = onnx::MaxPool(q) T=int8 kernel_shape=[3] pads=[1,1]", SERIES(3, 4, 200), 0},
    {BYTES("int8", "-128") "y = onnx::MaxPool(q) T=int8 kernel_shape=[5,5] pads=[2,2,2,2]",
        IMAGES(1, 7, 20, 20), 0},
    {BYTES("int8", "5") "y = onnx::MaxPool(q) T=int8 kernel_shape=[3,4] strides=[3,1] dilations=[2,3] "
                        "pads=[0,2,1,0] ceil_mode=1",
        IMAGES(1, 4, 19, 33), 0},
    {BYTES("int8", "5") "y = onnx::MaxPool(q) T=int8 kernel_shape=[2,2,2] strides=[2,2,1] pads=[1,1,1,0,0,0]",
        VOLUMES(1, 4, 5, 6, 33), 0},
};

static void
largest_bytes_are_those_of_the_reference_on_all_machines(void **state)
{
    (void)state;
    assert_bits_of_reference(DTYPE_UINT8, UNSIGNED_BYTES, COUNT_OF(UNSIGNED_BYTES));
    assert_bits_of_reference(DTYPE_INT8, SIGNED_BYTES, COUNT_OF(SIGNED_BYTES));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_bytes_are_those_of_the_reference_on_all_machines),
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
