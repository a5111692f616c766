/* Kernels of float16 and bfloat16: conversions of all patterns, and nodes that float32's kernels compute. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "shared/tensor/half.h"
#include "tests/support/near_reference.h"
#include "tests/support/partition_runs.h"
#include "worker/cpu/vector/halves.h"
#include "worker/cpu/vector/isa.h"

enum { PATTERNS = 1 << 16 };

static uint16_t
narrow_one(Dtype dtype, float number)
{
    return dtype == DTYPE_FLOAT16 ? half_from_float(number) : bfloat16_from_float(number);
}

static float
widen_one(Dtype dtype, uint16_t half)
{
    return dtype == DTYPE_FLOAT16 ? half_to_float(half) : bfloat16_to_float(half);
}

static void
check_widening(Dtype dtype)
{
    static uint16_t halves[PATTERNS];
    static float numbers[PATTERNS];
    for (int n = 0; n < PATTERNS; n++) {
        halves[n] = (uint16_t)n;
    }
    halves_widen(dtype, halves, numbers, PATTERNS);
    for (int n = 0; n < PATTERNS; n++) {
        assert_int_equal(float_to_bits(numbers[n]), float_to_bits(widen_one(dtype, halves[n])));
    }
}

/* Tries each upper half of a float32 with lower halves around where rounding changes its mind. */
static void
check_narrowing(Dtype dtype)
{
    static const uint32_t lows[] = {
        0, 1, 0xfff, 0x1000, 0x1001, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
    static uint16_t halves[PATTERNS];
    static float numbers[PATTERNS];
    for (size_t low = 0; low < COUNT_OF(lows); low++) {
        for (int n = 0; n < PATTERNS; n++) {
            numbers[n] = float_from_bits((uint32_t)n << 16 | lows[low]);
        }
        halves_narrow(dtype, numbers, halves, PATTERNS);
        for (int n = 0; n < PATTERNS; n++) {
            assert_int_equal(halves[n], narrow_one(dtype, numbers[n]));
        }
    }
}

static void
many_at_a_time_have_the_bits_of_one_on_each_instruction_set(void **state)
{
    (void)state;
    static const CpuIsa isas[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};
    for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
        cpu_isa_limit(isas[isa]);
        check_widening(DTYPE_FLOAT16);
        check_widening(DTYPE_BFLOAT16);
        check_narrowing(DTYPE_FLOAT16);
        check_narrowing(DTYPE_BFLOAT16);
    }
    cpu_isa_limit(CPU_ISA_AVX512);
}

#define SHAPE2(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }
#define OF_HALVES(lines)                                                                                     \
    "h = Cast(x) SrcT=float32 DstT=float16\n" lines "y = Cast(m) SrcT=float16 DstT=float32"
#define OF_BFLOATS(lines)                                                                                    \
    "h = Cast(x) SrcT=float32 DstT=bfloat16\n" lines "y = Cast(m) SrcT=bfloat16 DstT=float32"
#define WEIGHTS(shape, dtype)                                                                                \
    "wide = Const() dtype=float32 value=float32<" shape ">(0.5;0.25;-0.125)\n"                               \
    "w = Cast(wide) SrcT=float32 DstT=" dtype "\n"
#define HALF_WEIGHTS(shape) WEIGHTS(shape, "float16")
#define BFLOAT_WEIGHTS(shape) WEIGHTS(shape, "bfloat16")

static const NearCase CASES[] = {
    {OF_HALVES(HALF_WEIGHTS("70,33") "m = MatMul(h, w) T=float16\n"), SHAPE2(17, 70), 0x1p-10F},
    {OF_HALVES("m = MatMul(h, h) T=float16 transpose_b=true\n"), SHAPE2(17, 70), 0x1p-10F},
    {OF_BFLOATS(BFLOAT_WEIGHTS("70,33") "m = onnx::MatMul(h, w) T=bfloat16\n"), SHAPE2(17, 70), 0x1p-7F},
    {OF_HALVES("m = onnx::Softmax(h) T=float16 axis=-1\n"), SHAPE2(5, 197), 0x1p-10F},
    {OF_HALVES(HALF_WEIGHTS("96") "m = onnx::LayerNormalization(h, w, w) T=float16\n"), SHAPE2(9, 96),
        0x1p-9F},
    {OF_HALVES(HALF_WEIGHTS("96") "m = onnx::RMSNormalization(h, w) T=float16 V=float16\n"), SHAPE2(9, 96),
        0x1p-9F},
    {OF_HALVES(HALF_WEIGHTS("8,3,3,3") "m = onnx::Conv(h, w) T=float16 pads=[1,1,1,1]\n"), SHAPE4(2, 3, 9, 7),
        0x1p-10F},
    {OF_HALVES("m = onnx::MaxPool(h) T=float16 kernel_shape=[2,2]\n"), SHAPE4(2, 3, 9, 7), 0},
    {OF_HALVES("m = onnx::ReduceMean(h) T=float16 keepdims=0\n"), SHAPE2(40, 70), 0x1p-10F},
    {OF_HALVES("m = onnx::Attention(h, h, h) T1=float16 T2=float16\n"), SHAPE4(1, 2, 19, 16), 0x1p-8F},
    {OF_HALVES("m = Add(h, h) T=float16\n"), SHAPE2(40, 70), 0},
    {OF_HALVES("m = onnx::Sqrt(h) T=float16\n"), SHAPE2(40, 70), 0},
    {OF_BFLOATS("m = Mul(h, h) T=bfloat16\n"), SHAPE2(40, 70), 0},
    {OF_HALVES(HALF_WEIGHTS("70") "m = onnx::Mul(h, w) T=float16\n"), SHAPE2(40, 70), 0},
    {OF_HALVES("m = onnx::Sigmoid(h) T=float16\n"), SHAPE2(40, 70), 0x1p-10F},
    {OF_BFLOATS("m = onnx::Gelu(h) T=bfloat16\n"), SHAPE2(3, 1025), 0x1p-7F},
    {OF_HALVES("m = onnx::Softmax(h) T=float16 axis=-1\n"), SHAPE2(0, 7), 0},
};

static void
nodes_of_16_bits_have_fast_kernels_near_the_reference(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        char text[1024];
        snprintf(text, sizeof text, "x = _Arg() T=float32 index=0\n%s\nout = _Retval(y) T=float32 index=0\n",
            CASES[index].node);
        AUTO_PARTITION partition = fixture_compile_without(&fixture, text, "elementwise_fusion");
        (void)fixture_fast_node(partition, "m");
        partition_unref(TAKE(partition));
    }
    fixture_end(&fixture);
    assert_near_reference(CASES, COUNT_OF(CASES));
}

static const char *const OPS_OF_ONE[] = {"Neg", "Abs", "Square", "Sqrt", "Rsqrt", "Reciprocal", "Floor",
    "Ceil", "Round", "Rint", "Exp", "Log", "Erf", "Erfc", "Tanh", "Sigmoid", "Relu", "Relu6", "Elu", "Selu",
    "LeakyRelu", "Softsign", "onnx::Elu", "onnx::Selu", "onnx::LeakyRelu", "onnx::HardSigmoid",
    "onnx::HardSwish", "onnx::Swish", "onnx::ThresholdedRelu", "onnx::Gelu"};
static const char *const OPS_OF_TWO[] = {"Add", "AddV2", "Sub", "Mul", "RealDiv", "BiasAdd",
    "SquaredDifference", "Maximum", "Minimum", "onnx::Add", "onnx::Sub", "onnx::Mul", "onnx::Div",
    "onnx::PRelu"};
static const char *const OPS_OF_MANY[] = {"AddN", "onnx::Sum", "onnx::Max", "onnx::Min"};

/* `inputs`: with the bracket, and further attributes. Returns what an op alone, without neighbours that it
 * could be fused with, makes of a matrix and of a row.
 */
static Tensor
run_alone(RunFixture *fixture, const char *op, const char *inputs, Dtype dtype)
{
    char text[1024];
    const char *type = dtype_name(dtype);
    snprintf(text, sizeof text,
        "x = _Arg() T=float32 index=0\nh = Cast(x) SrcT=float32 DstT=%s\n"
        "row = Const() dtype=float32 value=float32<70>(0.5;0.25;-0.125)\nw = Cast(row) SrcT=float32 DstT=%s\n"
        "m = %s(%s T=%s\nout = _Retval(m) T=%s index=0\n",
        type, type, op, inputs, type, type);
    AUTO_PARTITION partition = fixture_compile_without(fixture, text, "elementwise_fusion");
    (void)fixture_fast_node(partition, "m");
    Shape shape = SHAPE2(40, 70);
    Tensor arg = fixture_numbers(fixture, &shape, 1);
    RunOutcome outcome = {0};
    fixture_run(fixture, partition, NULL, &arg, 1, &outcome);
    assert_string_equal(outcome.message, "");
    Tensor output = {0};
    assert_same_bits(&output, &outcome.outputs[0]);
    outcome_clear(&outcome);
    return output;
}

static void
check_alone(RunFixture *fixture, const char *op, const char *inputs, Dtype dtype)
{
    AUTO_TENSOR wide = run_alone(fixture, op, inputs, DTYPE_FLOAT32);
    AUTO_TENSOR narrow = run_alone(fixture, op, inputs, dtype);
    for (int64_t n = 0; n < tensor_element_count(&wide); n++) {
        float number = ((const float *)wide.data)[n];
        uint16_t half = ((const uint16_t *)narrow.data)[n];
        if (isnan(number) ? !isnan(widen_one(dtype, half)) : half != narrow_one(dtype, number)) {
            fail_msg("%s of %s: %a, not %a", op, dtype_name(dtype), (double)widen_one(dtype, half),
                (double)number);
        }
    }
}

/* Numbers that 16 bits hold give what float32 gives, rounded. */
static void
elementwise_nodes_alone_are_float32s_rounded(void **state)
{
    (void)state;
    static const Dtype dtypes[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16};
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    for (size_t dtype = 0; dtype < COUNT_OF(dtypes); dtype++) {
        for (size_t op = 0; op < COUNT_OF(OPS_OF_ONE); op++) {
            check_alone(&fixture, OPS_OF_ONE[op], "h)", dtypes[dtype]);
        }
        for (size_t op = 0; op < COUNT_OF(OPS_OF_MANY); op++) {
            const char *inputs = strcmp(OPS_OF_MANY[op], "AddN") == 0 ? "h, h) N=2" : "h, w) N=2";
            check_alone(&fixture, OPS_OF_MANY[op], inputs, dtypes[dtype]);
        }
        for (size_t op = 0; op < COUNT_OF(OPS_OF_TWO); op++) {
            check_alone(&fixture, OPS_OF_TWO[op], "h, w)", dtypes[dtype]);
        }
    }
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_a_time_have_the_bits_of_one_on_each_instruction_set),
        cmocka_unit_test(nodes_of_16_bits_have_fast_kernels_near_the_reference),
        cmocka_unit_test(elementwise_nodes_alone_are_float32s_rounded),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
