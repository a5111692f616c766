/* Products and convolutions of bytes beside the reference kernels, equal in every bit: bytes of either sign,
 * zero points of rows, columns and filters, batches, groups, one channel a filter, strides, dilations. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

/* The input x as bytes q. */
#define BYTES(dtype, zero)                                                                                   \
    "s = Const() dtype=float32 value=float32(0.0625)\nz = Const() dtype=" dtype " value=" dtype "(" zero     \
    ")\nq = onnx::QuantizeLinear(x, s, z) T1=float32 T2=float32 T3=" dtype "\n"
#define MATRIX(dtype, shape)                                                                                 \
    "w = Const() dtype=" dtype " value=" dtype "<" shape ">(1;-7;127;-128;90;-3;55;-100;4;0;-1)\n"
#define UNSIGNED(shape) "w = Const() dtype=uint8 value=uint8<" shape ">(1;255;127;128;90;3;55;200;4;0;77)\n"
#define ZEROS(shape) "v = Const() dtype=uint8 value=uint8<" shape ">(3;128;255)\n"
#define SCALES(shape)                                                                                        \
    "t = Const() dtype=float32 value=float32<" shape ">(0.001;0.002)\nr = Const() dtype=float32 "            \
    "value=float32(0.03)\n"
#define BIAS(shape) "b = Const() dtype=int32 value=int32<" shape ">(900;-4000)\n"
#define MATRICES(n, a, b)                                                                                    \
    {                                                                                                        \
        .rank = 3, .dims = { n, a, b }                                                                       \
    }
#define IMAGES(n, a, b, c)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { n, a, b, c }                                                                    \
    }

static const NearCase SUMS[] = {
    {BYTES("uint8", "130") MATRIX("int8", "70,130") "y = onnx::MatMulInteger(q, w, z) T1=uint8 T2=int8",
        MATRICES(2, 53, 70), 0},
    {BYTES("int8", "-5") UNSIGNED("7,65") ZEROS("65") "y = onnx::MatMulInteger(q, w, z, v) T1=int8 T2=uint8",
        {.rank = 2, .dims = {1, 7}}, 0},
    {BYTES("uint8", "9") "y = onnx::MatMulInteger(q, q) T1=uint8 T2=uint8", MATRICES(3, 19, 19), 0},
    {BYTES("int8", "0") "y = onnx::MatMulInteger(q, q) T1=int8 T2=int8", MATRICES(2, 0, 0), 0},
    {BYTES("int8", "3")
            MATRIX("int8", "11,5,3,3") "y = onnx::ConvInteger(q, w, z) T1=int8 T2=int8 pads=[1,1,1,1]",
        IMAGES(2, 5, 9, 30), 0},
    {BYTES("uint8", "120") UNSIGNED("8,2,3,2")
            ZEROS("8") "y = onnx::ConvInteger(q, w, z, v) T1=uint8 T2=uint8 group=2 strides=[2,3] "
                       "dilations=[1,2] pads=[0,2,3,1]",
        IMAGES(1, 4, 23, 17), 0},
    {BYTES("uint8", "120") UNSIGNED("12,1,3,3")
            ZEROS("12") "y = onnx::ConvInteger(q, w, z, v) T1=uint8 T2=uint8 group=6 pads=[1,1,1,1]",
        IMAGES(2, 6, 13, 70), 0},
    {BYTES("uint8", "120") UNSIGNED("3,1,2,2") "y = onnx::ConvInteger(q, w, z) T1=uint8 T2=uint8 group=3 "
                                               "strides=[1,576460752303423488]",
        IMAGES(1, 3, 4, 5), 0},
    {BYTES("uint8", "120") UNSIGNED("3,1,2,2") "y = onnx::ConvInteger(q, w, z) T1=uint8 T2=uint8 group=3 "
                                               "strides=[4294967296,4294967296] "
                                               "pads=[2147483647,2147483647,2147483647,2147483647]",
        IMAGES(1, 3, 4, 5), 0},
};

static const NearCase SIGNED[] = {
    {BYTES("int8", "-9") MATRIX("int8", "7,3,1,1")
            SCALES("7") "o = Const() dtype=int8 value=int8<7>(0)\n" BIAS(
                "7") "y = onnx::QLinearConv(q, s, z, w, t, o, r, z, b) T1=int8 T2=int8 T3=int8",
        IMAGES(3, 3, 20, 21), 0},
};

static const NearCase UNSIGNED_BYTES[] = {
    {BYTES("uint8", "130") UNSIGNED("40,90") SCALES("90") ZEROS(
         "90") "y = onnx::QLinearMatMul(q, s, z, w, t, v, r, z) T1=uint8 T2=uint8 TS=float32 T3=uint8",
        MATRICES(2, 31, 40), 0},
    {BYTES("uint8", "9") MATRIX("int8", "4,1,5") SCALES("1") "o = Const() dtype=int8 value=int8(2)\n"
                                                             "y = onnx::QLinearConv(q, s, z, w, t, o, r, z) "
                                                             "T1=uint8 T2=int8 T3=uint8 group=4 strides=[2]",
        MATRICES(1, 4, 200), 0},
};

static void
sums_have_the_bits_of_the_reference_on_all_machines(void **state)
{
    (void)state;
    assert_bits_of_reference(DTYPE_INT32, SUMS, COUNT_OF(SUMS));
}

static void
scaled_sums_have_the_bits_of_the_reference_on_all_machines(void **state)
{
    (void)state;
    assert_bits_of_reference(DTYPE_INT8, SIGNED, COUNT_OF(SIGNED));
    assert_bits_of_reference(DTYPE_UINT8, UNSIGNED_BYTES, COUNT_OF(UNSIGNED_BYTES));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_bits_of_the_reference_on_all_machines),
        cmocka_unit_test(scaled_sums_have_the_bits_of_the_reference_on_all_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
