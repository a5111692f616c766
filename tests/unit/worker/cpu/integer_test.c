/* Products and convolutions of bytes beside the reference kernels, equal in every bit: bytes of either sign,
 * zero points of rows, columns and filters, batches, groups, one channel a filter, strides, dilations. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"
#include "worker/cpu/sizes.h"

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
    {BYTES("int8", "-7") "y = onnx::ConvInteger(q, q, z, z) T1=int8 T2=int8 pads=[1,1,1,1]",
        IMAGES(20, 6, 3, 3), 0},
    {BYTES("uint8", "120") UNSIGNED("70,5,2,2") "y = onnx::ConvInteger(q, w, z) T1=uint8 T2=uint8 "
                                                "strides=[2147483647,2147483647] pads=[2147483647,0,0,0]",
        IMAGES(1, 5, 4, 5), 0},
    {BYTES("uint8", "255") MATRIX("int8", "3,2,2,1,2,2") "y = onnx::ConvInteger(q, w, z) T1=uint8 T2=int8 "
                                                         "pads=[1,0,0,1,0,1,1,0] strides=[2,1,1,2]",
        {.rank = 6, .dims = {2, 2, 3, 4, 3, 5}}, 0},
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

/* A convolution whose sizes are drawn: a rank of 1 to 3, groups, channels that fill neither fours nor
 * vectors, strides, dilations, padding that is not the same on both sides, bytes of either sign, zero points
 * of the filter that are absent, one, or one for each channel. */
typedef struct DrawnConvolution {
    uint32_t seed;
    int rank;
    int groups;
    int inputs;
    int outputs;
    bool is_signed;
    bool is_filter_signed;
    int filter_zeros;
    Shape x;
    char filter[64];
    char attributes[256];
} DrawnConvolution;

static int
draw(DrawnConvolution *drawn, int least, int most)
{
    drawn->seed = drawn->seed * 1664525U + 1013904223U;
    return least + (int)((drawn->seed >> 8) % (uint32_t)(most - least + 1));
}

static void
append_list(DrawnConvolution *drawn, const char *name, int count, int least, int most)
{
    size_t used = strlen(drawn->attributes);
    used += (size_t)sprintf(drawn->attributes + used, " %s=[", name);
    for (int n = 0; n < count; n++) {
        used += (size_t)sprintf(
            drawn->attributes + used, "%d%s", draw(drawn, least, most), n + 1 < count ? "," : "]");
    }
}

static DrawnConvolution
draw_convolution(uint32_t seed)
{
    DrawnConvolution drawn = {.seed = seed * 7919U + 1};
    drawn.rank = draw(&drawn, 1, 3);
    drawn.groups = draw(&drawn, 0, 2) == 0 ? draw(&drawn, 2, 3) : 1;
    drawn.inputs = seed % 3 == 0 ? 1 : draw(&drawn, 1, drawn.groups > 1 ? 7 : 37);
    drawn.outputs = draw(&drawn, 1, drawn.groups > 1 ? 9 : 90);
    drawn.is_signed = draw(&drawn, 0, 1) != 0;
    drawn.is_filter_signed = draw(&drawn, 0, 2) != 0;
    drawn.filter_zeros = draw(&drawn, 0, 2);
    drawn.x =
        (Shape){.rank = 2 + drawn.rank, .dims = {draw(&drawn, 1, 3), (int64_t)drawn.groups * drawn.inputs}};
    int used = sprintf(drawn.filter, "%d,%d", drawn.groups * drawn.outputs, drawn.inputs);
    for (int n = 0; n < drawn.rank; n++) {
        drawn.x.dims[2 + n] = draw(&drawn, 5, drawn.rank == 1 ? 90 : drawn.rank == 2 ? 40 : 8);
        used += sprintf(drawn.filter + used, ",%d", draw(&drawn, 1, 3));
    }
    sprintf(drawn.attributes, "group=%d", drawn.groups);
    append_list(&drawn, "strides", drawn.rank, 1, 3);
    append_list(&drawn, "dilations", drawn.rank, 1, 2);
    append_list(&drawn, "pads", 2 * drawn.rank, 0, 3);
    return drawn;
}

/* Writes constants of bytes: the last of the numbers that are written is repeated. */
static size_t
append_bytes(DrawnConvolution *drawn, char *text, const char *name, const char *shape, int count)
{
    const char *dtype = drawn->is_filter_signed ? "int8" : "uint8";
    int low = drawn->is_filter_signed ? -128 : 0;
    size_t used = (size_t)sprintf(text, "%s = Const() dtype=%s value=%s<%s>(", name, dtype, dtype, shape);
    for (int n = 0; n < count; n++) {
        used +=
            (size_t)sprintf(text + used, "%d%s", draw(drawn, low, low + 255), n + 1 < count ? ";" : ")\n");
    }
    return used;
}

static void
write_convolution(DrawnConvolution *drawn, bool is_scaled, char *text)
{
    const char *x = drawn->is_signed ? "int8" : "uint8";
    const char *w = drawn->is_filter_signed ? "int8" : "uint8";
    int filters = drawn->groups * drawn->outputs;
    char each[16];
    sprintf(each, "%d", filters);
    size_t used = (size_t)sprintf(text,
        "s = Const() dtype=float32 value=float32(0.0625)\nz = Const() dtype=%s value=%s(%d)\n"
        "q = onnx::QuantizeLinear(x, s, z) T1=float32 T2=float32 T3=%s\n",
        x, x, draw(drawn, 0, 127), x);
    used += append_bytes(drawn, text + used, "w", drawn->filter, 200);
    used += append_bytes(drawn, text + used, "v", drawn->filter_zeros < 2 ? "1" : each,
        drawn->filter_zeros < 2 ? 1 : (int)smaller_of(filters, 9));
    if (!is_scaled) {
        sprintf(text + used, "y = onnx::ConvInteger(q, w, z%s) T1=%s T2=%s %s",
            drawn->filter_zeros == 0 ? "" : ", v", x, w, drawn->attributes);
        return;
    }
    used += (size_t)sprintf(text + used,
        "t = Const() dtype=float32 value=float32<%s>(0.001;0.002)\nr = Const() dtype=float32 "
        "value=float32(0.13)\nb = Const() dtype=int32 value=int32<%s>(900;-4000)\n",
        each, each);
    sprintf(text + used, "y = onnx::QLinearConv(q, s, z, w, t, v, r, z, b) T1=%s T2=%s T3=%s %s", x, w, x,
        drawn->attributes);
}

static void
convolutions_of_any_sizes_have_the_bits_of_the_reference_on_all_machines(void **state)
{
    (void)state;
    enum { DRAWN = 90 };
    for (uint32_t seed = 0; seed < DRAWN; seed++) {
        char text[2048];
        DrawnConvolution drawn = draw_convolution(seed);
        bool is_scaled = seed % 2 == 0;
        write_convolution(&drawn, is_scaled, text);
        NearCase tried = {text, drawn.x, 0};
        Dtype dtype = !is_scaled ? DTYPE_INT32 : drawn.is_signed ? DTYPE_INT8 : DTYPE_UINT8;
        assert_bits_of_reference(dtype, &tried, 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_of_any_sizes_have_the_bits_of_the_reference_on_all_machines),
        cmocka_unit_test(sums_have_the_bits_of_the_reference_on_all_machines),
        cmocka_unit_test(scaled_sums_have_the_bits_of_the_reference_on_all_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
