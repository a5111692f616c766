/* Comparisons, and casts of truth values, integers and floats, beside the reference kernels: every bit is
 * theirs. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define MATRIX(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define FLOORED(dtype) "f = Floor(x) T=float32\ni = Cast(f) SrcT=float32 DstT=" dtype "\n"

/* Two inputs of one shape, one of them repeated, both repeated; runs of every length, and long ones. */
#define COMPARED(op)                                                                                         \
    {"a = Neg(x) T=float32\ny = " op "(x, a) T=float32", MATRIX(61, 1777), 0},                               \
        {"a = Const() dtype=float32 value=float32(0.5)\ny = " op "(x, a) T=float32", MATRIX(3, 71), 0},      \
        {"a = Const() dtype=float32 value=float32(0.5)\ny = " op "(a, x) T=float32", MATRIX(1, 13), 0},      \
        {"a = Const() dtype=float32 value=float32<5,1>(1;-2;3;0;0.25)\ny = " op "(x, a) T=float32",          \
            MATRIX(5, 33), 0},                                                                               \
        {FLOORED("int32") "k = Const() dtype=int32 value=int32<1>(-1)\ny = " op "(i, k) T=int32",            \
            MATRIX(7, 65), 0},                                                                               \
        {FLOORED("int64") "k = Const() dtype=int64 value=int64<7>(-1;0;2)\ny = " op "(i, k) T=int64",        \
            MATRIX(9, 7), 0},                                                                                \
        {"a = Neg(x) T=float32\ny = " op "(x, a) T=float32", MATRIX(0, 7), 0},                               \
    {                                                                                                        \
        "a = Neg(x) T=float32\ny = " op "(x, a) T=float32", {.rank = 0}, 0                                   \
    }

static const NearCase COMPARISONS[] = {
    COMPARED("onnx::Equal"),
    COMPARED("onnx::Less"),
    COMPARED("onnx::LessOrEqual"),
    COMPARED("onnx::Greater"),
    COMPARED("onnx::GreaterOrEqual"),
    COMPARED("Equal"),
    COMPARED("NotEqual"),
    COMPARED("LessEqual"),
};

static void
comparisons_have_the_bits_of_the_reference_on_all_machines(void **state)
{
    (void)state;
    assert_bits_of_reference(DTYPE_BOOL, COMPARISONS, COUNT_OF(COMPARISONS));
}

/* Numbers of either sign up to 2⁹⁹: bytes, int32 and int64 hold some of them. */
#define LARGE                                                                                                \
    "p = Mul(x, x) T=float32\nq = Mul(p, p) T=float32\nr = Mul(q, q) T=float32\ns = Mul(r, r) T=float32\n"   \
    "u = Mul(s, s) T=float32\nf = Mul(u, x) T=float32\n"
#define TRUTH "k = Const() dtype=float32 value=float32(0.5)\nb = Greater(x, k) T=float32\n"

static const NearCase CASTS_TO_FLOATS[] = {
    {TRUTH "y = Cast(b) SrcT=bool DstT=float32", MATRIX(41, 1777), 0},
    {TRUTH "y = onnx::Cast(b) T=bool to=float32", MATRIX(1, 13), 0},
    {FLOORED("int32") "y = Cast(i) SrcT=int32 DstT=float32", MATRIX(3, 71), 0},
    {FLOORED("int64") "y = Cast(i) SrcT=int64 DstT=float32", MATRIX(41, 1777), 0},
    {FLOORED("int64") "y = Cast(i) SrcT=int64 DstT=float32", MATRIX(0, 3), 0},
    {LARGE "i = Cast(f) SrcT=float32 DstT=uint8\ny = Cast(i) SrcT=uint8 DstT=float32", MATRIX(41, 1777), 0},
    {LARGE "i = Cast(f) SrcT=float32 DstT=int8\ny = Cast(i) SrcT=int8 DstT=float32", MATRIX(41, 1777), 0},
    {LARGE "i = Cast(f) SrcT=float32 DstT=float64\ny = Cast(i) SrcT=float64 DstT=float32", MATRIX(3, 71), 0},
};

static const NearCase CASTS_TO_INTS[] = {
    {TRUTH "y = Cast(b) SrcT=bool DstT=int32", MATRIX(3, 71), 0},
    {FLOORED("int64") "y = Cast(i) SrcT=int64 DstT=int32", MATRIX(41, 1777), 0},
    {"i = Const() dtype=int64 value=int64<3>(4294967297;-4294967297;2147483648)\n"
     "j = Cast(x) SrcT=float32 DstT=int64\nk = Add(i, j) T=int64\ny = Cast(k) SrcT=int64 DstT=int32",
        MATRIX(5, 3), 0},
    {LARGE "y = Cast(f) SrcT=float32 DstT=int32", MATRIX(41, 1777), 0},
    {"y = onnx::Cast(x) T=float32 to=int32", MATRIX(1, 13), 0},
    {LARGE "i = Cast(f) SrcT=float32 DstT=uint8\ny = Cast(i) SrcT=uint8 DstT=int32", MATRIX(3, 71), 0},
    {LARGE "i = Cast(f) SrcT=float32 DstT=int8\ny = Cast(i) SrcT=int8 DstT=int32", MATRIX(3, 71), 0},
};

static const NearCase CASTS_TO_LONGS[] = {
    {TRUTH "y = Cast(b) SrcT=bool DstT=int64", MATRIX(3, 71), 0},
    {FLOORED("int32") "y = Cast(i) SrcT=int32 DstT=int64", MATRIX(41, 1777), 0},
    {LARGE "y = Cast(f) SrcT=float32 DstT=int64", MATRIX(41, 1777), 0},
    {LARGE "i = Cast(f) SrcT=float32 DstT=uint8\ny = Cast(i) SrcT=uint8 DstT=int64", MATRIX(3, 71), 0},
};

static const NearCase CASTS_TO_BYTES[] = {
    {LARGE "y = Cast(f) SrcT=float32 DstT=uint8", MATRIX(41, 1777), 0},
    {"y = Cast(x) SrcT=float32 DstT=uint8", MATRIX(1, 13), 0},
};

static const NearCase CASTS_TO_SIGNED_BYTES[] = {
    {LARGE "y = Cast(f) SrcT=float32 DstT=int8", MATRIX(41, 1777), 0},
    {"y = Cast(x) SrcT=float32 DstT=int8", MATRIX(1, 13), 0},
};

static const NearCase CASTS_TO_TRUTH[] = {
    {"f = Floor(x) T=float32\ny = Cast(f) SrcT=float32 DstT=bool", MATRIX(41, 1777), 0},
    {FLOORED("int32") "y = Cast(i) SrcT=int32 DstT=bool", MATRIX(41, 1777), 0},
    {FLOORED("int64") "y = Cast(i) SrcT=int64 DstT=bool", MATRIX(41, 1777), 0},
};

static const NearCase CASTS_TO_DOUBLES[] = {
    {LARGE "y = Cast(f) SrcT=float32 DstT=float64", MATRIX(41, 1777), 0}};

static void
casts_have_the_bits_of_the_reference_on_all_machines(void **state)
{
    (void)state;
    assert_bits_of_reference(DTYPE_FLOAT32, CASTS_TO_FLOATS, COUNT_OF(CASTS_TO_FLOATS));
    assert_bits_of_reference(DTYPE_INT32, CASTS_TO_INTS, COUNT_OF(CASTS_TO_INTS));
    assert_bits_of_reference(DTYPE_INT64, CASTS_TO_LONGS, COUNT_OF(CASTS_TO_LONGS));
    assert_bits_of_reference(DTYPE_UINT8, CASTS_TO_BYTES, COUNT_OF(CASTS_TO_BYTES));
    assert_bits_of_reference(DTYPE_INT8, CASTS_TO_SIGNED_BYTES, COUNT_OF(CASTS_TO_SIGNED_BYTES));
    assert_bits_of_reference(DTYPE_BOOL, CASTS_TO_TRUTH, COUNT_OF(CASTS_TO_TRUTH));
    assert_bits_of_reference(DTYPE_FLOAT64, CASTS_TO_DOUBLES, COUNT_OF(CASTS_TO_DOUBLES));
}

/* The result becomes a number, so that infinities and NaN can be put in between. */
#define THERE_AND_BACK(dtype)                                                                                \
    {                                                                                                        \
        "i = Cast(x) SrcT=float32 DstT=" dtype "\ny = Cast(i) SrcT=" dtype " DstT=float32", MATRIX(9, 77), 0 \
    }
#define ONE_OR_ZERO(op)                                                                                      \
    {                                                                                                        \
        "a = Neg(x) T=float32\nb = " op "(x, a) T=float32\ny = Cast(b) SrcT=bool DstT=float32",              \
            MATRIX(9, 77), 0                                                                                 \
    }

static const NearCase EDGES[] = {ONE_OR_ZERO("Equal"), ONE_OR_ZERO("NotEqual"), ONE_OR_ZERO("Less"),
    ONE_OR_ZERO("LessEqual"), ONE_OR_ZERO("Greater"), ONE_OR_ZERO("GreaterEqual"), THERE_AND_BACK("bool"),
    THERE_AND_BACK("uint8"), THERE_AND_BACK("int8"), THERE_AND_BACK("int32"), THERE_AND_BACK("int64"),
    THERE_AND_BACK("float64")};

static void
infinities_and_nan_compare_and_convert_as_in_the_reference(void **state)
{
    (void)state;
    assert_edges_near_reference(EDGES, COUNT_OF(EDGES));
}

/* Sine and cosine of angles beyond those that vectors compute, among others. */
static const NearCase WAVES[] = {
    {"k = Const() dtype=float32 value=float32(30000)\na = Mul(x, k) T=float32\ny = Sin(a) T=float32",
        MATRIX(61, 777), 3e-7F},
    {"k = Const() dtype=float32 value=float32(30000)\na = Mul(x, k) T=float32\ny = onnx::Cos(a) T=float32",
        MATRIX(1, 13), 3e-7F},
    {"y = Cos(x) T=float32", MATRIX(61, 1777), 3e-7F},
    {"y = onnx::Sin(x) T=float32", {.rank = 0}, 3e-7F},
};

static void
waves_are_near_the_reference_whatever_the_angle(void **state)
{
    (void)state;
    assert_near_reference(WAVES, COUNT_OF(WAVES));
    assert_edges_near_reference(WAVES, COUNT_OF(WAVES));
    assert_bits_of_all_machines(WAVES, COUNT_OF(WAVES));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_have_the_bits_of_the_reference_on_all_machines),
        cmocka_unit_test(casts_have_the_bits_of_the_reference_on_all_machines),
        cmocka_unit_test(infinities_and_nan_compare_and_convert_as_in_the_reference),
        cmocka_unit_test(waves_are_near_the_reference_whatever_the_angle),
    };
    return cmocka_run_group_tests_name("worker/cpu/comparison", tests, NULL, NULL);
}
