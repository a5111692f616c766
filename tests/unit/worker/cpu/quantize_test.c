/* Quantised numbers beside the reference kernels: every bit is theirs. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"
#include "tests/support/partition_runs.h"

#define SCALE(shape) "s = Const() dtype=float32 value=float32<" shape ">(0.05;0.125;0.031)\n"
#define ZERO(type, shape) "z = Const() dtype=" type " value=" type "<" shape ">(3;100;7)\n"
#define ONE_SCALE "s = Const() dtype=float32 value=float32(0.05)\n"
#define ONE_ZERO(type) "z = Const() dtype=" type " value=" type "(3)\n"
#define THERE_AND_BACK(type, attributes)                                                                     \
    "q = onnx::QuantizeLinear(x, s, z) T1=float32 T2=float32 T3=" type " " attributes "\n"                   \
    "y = onnx::DequantizeLinear(q, s, z) T1=" type " T2=float32 " attributes
#define SHAPE2(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }

static const NearCase CASES[] = {
    {ONE_SCALE ONE_ZERO("uint8") THERE_AND_BACK("uint8", ""), SHAPE2(40, 1777), 0},
    {ONE_SCALE ONE_ZERO("int8") THERE_AND_BACK("int8", ""), SHAPE2(3, 70), 0},
    {ONE_SCALE ONE_ZERO("int16") THERE_AND_BACK("int16", ""), SHAPE2(3, 70), 0},
    {ONE_SCALE ONE_ZERO("uint16") THERE_AND_BACK("uint16", ""), SHAPE2(3, 70), 0},
    {SCALE("31") ZERO("int8", "31") THERE_AND_BACK("int8", "axis=1"), SHAPE3(5, 31, 70), 0},
    {SCALE("70") ZERO("uint8", "70") THERE_AND_BACK("uint8", "axis=-1"), SHAPE3(5, 31, 70), 0},
    {SCALE("5") ZERO("uint8", "5") THERE_AND_BACK("uint8", "axis=0"), SHAPE3(5, 5, 5), 0},
    {SCALE("1") ZERO("uint8", "1") THERE_AND_BACK("uint8", "axis=2"), SHAPE3(5, 31, 1), 0},
    {ONE_SCALE "q = onnx::QuantizeLinear(x, s) T1=float32 T2=float32 T3=uint8\n"
               "y = onnx::DequantizeLinear(q, s) T1=uint8 T2=float32",
        SHAPE2(3, 70), 0},
    {ONE_SCALE ONE_ZERO("uint8") THERE_AND_BACK("uint8", ""), SHAPE2(0, 70), 0},
    {ONE_SCALE ONE_ZERO("uint8") THERE_AND_BACK("uint8", ""), {.rank = 0}, 0},
    {"q = onnx::DynamicQuantizeLinear(x)\ny = onnx::DequantizeLinear(q, q:1, q:2) T1=uint8 T2=float32",
        SHAPE2(70, 1777), 0},
};

static void
bits_are_the_references_on_all_machines(void **state)
{
    (void)state;
    assert_bits_of_reference(DTYPE_FLOAT32, CASES, COUNT_OF(CASES));
}

/* A sum of quantised numbers is what importing QLinearAdd gives. */
static void
a_chain_of_quantised_numbers_has_the_same_bits_fused_or_not(void **state)
{
    (void)state;
    static const char text[] = "x = _Arg() T=float32 index=0\n" ONE_SCALE ONE_ZERO("int8") THERE_AND_BACK(
        "int8",
        "") "\n"
            "a = onnx::Add(y, x) T=float32\nb = onnx::QuantizeLinear(a, s, z) T1=float32 T2=float32 T3=int8\n"
            "out = _Retval(b) T=int8 index=0\n";
    RunFixture fixture;
    Tensor expected = {0};
    fixture_begin(&fixture, 2);
    for (int is_fused = 0; is_fused < 2; is_fused++) {
        AUTO_PARTITION partition =
            fixture_compile_without(&fixture, text, is_fused ? "" : "elementwise_fusion");
        Tensor arg = fixture_numbers(&fixture, &(Shape){.rank = 2, .dims = {37, 1001}}, 5);
        RunOutcome outcome = {0};
        fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
        assert_string_equal(outcome.message, "");
        assert_same_bits(&expected, &outcome.outputs[0]);
        outcome_clear(&outcome);
        partition_unref(TAKE(partition));
    }
    tensor_unref(&expected);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_the_references_on_all_machines),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
        cmocka_unit_test(a_chain_of_quantised_numbers_has_the_same_bits_fused_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
