#include <math.h>

#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"
#include "tests/support/reference_run.h"
#include "worker/cpu/vector/isa.h"

/* Computes each kernel's result by its definition. */
static float
by_definition(const char *op, float a, float b)
{
    switch (op[0]) {
    case 'A':
        return a + b;
    case 'S':
        return a - b;
    case 'M':
        return a * b;
    default:
        return a / b;
    }
}

static Tensor
values(RunFixture *fixture, const Shape *shape, float first)
{
    int64_t count = 0;
    assert_true(shape_element_count(shape, &count));
    Tensor tensor = fixture_vector(fixture, count, 0);
    tensor.shape = *shape;
    for (int64_t i = 0; i < count; i++) {
        ((float *)tensor.data)[i] = first + (float)(i % 977) * 0.37F;
    }
    return tensor;
}

static void
run_case(RunFixture *fixture, const char *op, const Shape *left, const Shape *right)
{
    char text[256];
    snprintf(text, sizeof text,
        "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
        "y = %s(a, b) T=float32\nout = _Retval(y) T=float32 index=0\n",
        op);
    AUTO_PARTITION partition = fixture_compile(fixture, text);
    (void)fixture_fast_node(partition, "y");
    Tensor a = values(fixture, left, 1.1F);
    Tensor b = values(fixture, right, 2.3F);
    for (int shared = 0; shared < 4; shared++) {
        RunOutcome outcome = {0};
        Tensor args[] = {values(fixture, left, 1.1F), values(fixture, right, 2.3F)};
        Tensor held[] = {
            shared & 1 ? tensor_ref(&args[0]) : (Tensor){0}, shared & 2 ? tensor_ref(&args[1]) : (Tensor){0}};
        fixture_run(fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        int64_t count = tensor_element_count(&outcome.outputs[0]);
        int64_t a_count = tensor_element_count(&a);
        int64_t b_count = tensor_element_count(&b);
        for (int64_t i = 0; i < count; i++) {
            float expected = by_definition(op, tensor_float(&a, i % a_count), tensor_float(&b, i % b_count));
            assert_memory_equal(&((float *)outcome.outputs[0].data)[i], &expected, sizeof expected);
        }
        tensor_unref(&held[0]);
        tensor_unref(&held[1]);
        outcome_clear(&outcome);
    }
    tensor_unref(&a);
    tensor_unref(&b);
    partition_unref(TAKE(partition));
}

static void
every_form_has_the_bits_of_its_definition(void **state)
{
    (void)state;
    static const char *const ops[] = {"Add", "Sub", "Mul", "RealDiv"};
    static const Shape shapes[][2] = {
        {{.rank = 1, .dims = {13}}, {.rank = 1, .dims = {13}}},
        {{.rank = 0}, {.rank = 0}},
        {{.rank = 2, .dims = {3, 7}}, {.rank = 0}},
        {{.rank = 1, .dims = {1}}, {.rank = 2, .dims = {3, 7}}},
        {{.rank = 2, .dims = {5, 9}}, {.rank = 1, .dims = {9}}},
        {{.rank = 1, .dims = {9}}, {.rank = 2, .dims = {5, 9}}},
        {{.rank = 1, .dims = {150001}}, {.rank = 1, .dims = {150001}}},
    };
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t i = 0; i < COUNT_OF(shapes); i++) {
            run_case(&fixture, ops[op], &shapes[i][0], &shapes[i][1]);
        }
    }
    fixture_end(&fixture);
}

/* Makes a tensor of signed zeros, extremes, infinities and NaN, with remainders of every length. */
static Tensor
extremes(RunFixture *fixture, const Shape *shape, int64_t step)
{
    static const float numbers[] = {
        0, -0.0F, 1, -1, 6, 6.5F, -2.25F, 1e-40F, INFINITY, -INFINITY, NAN, 3e38F};
    Tensor tensor = values(fixture, shape, 0);
    int64_t count = tensor_element_count(&tensor);
    for (int64_t i = 0; i < count; i++) {
        ((float *)tensor.data)[i] = numbers[i * step % (int64_t)COUNT_OF(numbers)];
    }
    return tensor;
}

static void
compare_with_reference(RunFixture *fixture, const char *text, const Shape *left, const Shape *right)
{
    RunOutcome outcome = {0};
    AUTO_PARTITION partition = fixture_compile(fixture, text);
    Tensor args[] = {extremes(fixture, left, 1), extremes(fixture, right, 5)};
    Tensor inputs[] = {tensor_ref(&args[0]), tensor_ref(&args[1])};
    fixture_run(fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    fixture_assert_as_reference(fixture, fixture_fast_node(partition, "y"), inputs, &outcome.outputs[0]);
    tensor_unref(&inputs[0]);
    tensor_unref(&inputs[1]);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
}

static void
numbers_smaller_than_the_normal_ones_are_kept(void **state)
{
    (void)state;
    static const char text[] = "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
                               "y = Mul(a, b) T=float32\nout = _Retval(y) T=float32 index=0\n";
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    (void)fixture_fast_node(partition, "y");
    Tensor args[] = {fixture_vector(&fixture, 37, 0x1p-126F), fixture_vector(&fixture, 37, 0x1p-3F)};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    for (int64_t i = 0; i < 37; i++) {
        assert_float_equal(tensor_float(&outcome.outputs[0], i), 0x1p-129F, 0);
    }
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* What rounds once has the reference's bits. */
static void
every_exact_function_has_the_bits_of_the_reference(void **state)
{
    (void)state;
    static const char *const ops[] = {"SquaredDifference(a, b)", "Maximum(a, b)", "Minimum(a, b)",
        "ReluGrad(a, b)", "BiasAdd(a, b)", "Neg(a)", "Abs(a)", "Square(a)", "Relu(a)", "Relu6(a)", "Sqrt(a)",
        "Rsqrt(a)", "Reciprocal(a)", "Floor(a)", "Ceil(a)", "Rint(a)", "LeakyRelu(a) alpha=0.25",
        "onnx::PRelu(a, b)", "onnx::Max(a, b) N=2", "Softsign(a)", "onnx::ThresholdedRelu(a) alpha=0.5",
        "onnx::Shrink(a) lambd=0.5 bias=0.25", "onnx::HardSigmoid(a) alpha=0.25 beta=0.5"};
    static const Shape shapes[][2] = {
        {{.rank = 2, .dims = {1, 12}}, {.rank = 1, .dims = {12}}},
        {{.rank = 2, .dims = {13, 11}}, {.rank = 1, .dims = {11}}},
        {{.rank = 2, .dims = {70000, 2}}, {.rank = 1, .dims = {2}}},
    };
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t i = 0; i < COUNT_OF(shapes); i++) {
            char text[256];
            snprintf(text, sizeof text,
                "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
                "y = %s T=float32\nout = _Retval(y) T=float32 index=0\n",
                ops[op]);
            compare_with_reference(&fixture, text, &shapes[i][0], &shapes[i][1]);
        }
    }
    fixture_end(&fixture);
}

static void
clips_let_nan_pass_and_the_upper_limit_win(void **state)
{
    (void)state;
    static const Shape shape = {.rank = 2, .dims = {5000, 12}};
    static const float limits[][2] = {{-1, 6}, {2, -2}};
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t index = 0; index < COUNT_OF(limits); index++) {
        float low = limits[index][0];
        float high = limits[index][1];
        char text[256];
        snprintf(text, sizeof text,
            "a = _Arg() T=float32 index=0\nlow = Const() dtype=float32 value=float32(%g)\n"
            "high = Const() dtype=float32 value=float32<1>(%g)\n"
            "y = onnx::Clip(a, low, high) T=float32\nout = _Retval(y) T=float32 index=0\n",
            (double)low, (double)high);
        AUTO_PARTITION partition = fixture_compile(&fixture, text);
        (void)fixture_fast_node(partition, "y");
        RunOutcome outcome = {0};
        Tensor x = extremes(&fixture, &shape, 1);
        Tensor args[] = {tensor_ref(&x)};
        fixture_run(&fixture, partition, NULL, args, 1, &outcome);
        assert_string_equal(outcome.message, "");
        for (int64_t n = 0; n < tensor_element_count(&x); n++) {
            float a = tensor_float(&x, n) < low ? low : tensor_float(&x, n);
            float expected = a > high ? high : a;
            float computed = tensor_float(&outcome.outputs[0], n);
            assert_true(computed == expected || (isnan(computed) && isnan(expected)));
        }
        tensor_unref(&x);
        outcome_clear(&outcome);
        partition_unref(TAKE(partition));
    }
    fixture_end(&fixture);
}

/* A function that rounds more than once, and how far it may be from the reference: the error that
 * vector/functions.h states, and half a unit by which the reference rounds. */
typedef struct NearFunction {
    const char *text;
    float units_max; /* of the last place */
} NearFunction;

static const NearFunction NEAR_FUNCTIONS[] = {
    {"Exp(a)", 1.6F},
    {"Log(a)", 2},
    {"Erf(a)", 1.7F},
    {"Erfc(a)", 4},
    {"Tanh(a)", 5.5F},
    {"Sigmoid(a)", 3},
    {"Elu(a)", 2.5F},
    {"Selu(a)", 4},
    {"onnx::Elu(a) alpha=0.5", 3},
    {"onnx::Selu(a) alpha=0.5 gamma=2.0", 4},
    {"onnx::HardSwish(a)", 3},
    {"Softplus(a)", 4},
    {"onnx::Mish(a)", 5.5F},
    {"Sin(a)", 2.5F},
    {"onnx::Cos(a)", 2.5F},
    {"onnx::Swish(a)", 4},
    {"Pow(a, b)", 1},
    {"SigmoidGrad(a, b)", 2},
    {"TanhGrad(a, b)", 2},
};

static Tensor
run_function(RunFixture *fixture, const char *function, const Shape *left, const Shape *right, bool is_fast)
{
    char text[256];
    RunOutcome outcome = {0};
    snprintf(text, sizeof text,
        "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
        "y = %s T=float32\nout = _Retval(y) T=float32 index=0\n",
        function);
    AUTO_PARTITION partition = fixture_compile(fixture, text);
    const ScheduleNode *node = fixture_fast_node(partition, "y");
    Tensor args[] = {extremes(fixture, left, 1), extremes(fixture, right, 5)};
    Tensor output = {0};
    if (is_fast) {
        fixture_run(fixture, partition, NULL, args, 2, &outcome);
        assert_string_equal(outcome.message, "");
        output = tensor_ref(&outcome.outputs[0]);
        outcome_clear(&outcome);
    } else {
        assert_status(
            &fixture->call, STATUS_OK, reference_compute(&fixture->call, node->node, args, &output));
        tensor_unref(&args[0]);
        tensor_unref(&args[1]);
    }
    partition_unref(TAKE(partition));
    return output;
}

static void
assert_near(const NearFunction *function, float computed, float expected)
{
    bool is_equal = computed == expected || (isnan(computed) && isnan(expected));
    float unit = nextafterf(fabsf(expected), INFINITY) - fabsf(expected);
    if (!is_equal && !(fabsf(computed - expected) <= function->units_max * unit)) {
        fail_msg("%s: %a, not %a", function->text, (double)computed, (double)expected);
    }
}

static void
other_functions_are_near_the_reference(void **state)
{
    (void)state;
    static const Shape left = {.rank = 2, .dims = {60, 12}};
    static const Shape right = {.rank = 1, .dims = {12}};
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t index = 0; index < COUNT_OF(NEAR_FUNCTIONS); index++) {
        const NearFunction *function = &NEAR_FUNCTIONS[index];
        Tensor computed = run_function(&fixture, function->text, &left, &right, true);
        Tensor expected = run_function(&fixture, function->text, &left, &right, false);
        for (int64_t n = 0; n < tensor_element_count(&expected); n++) {
            assert_near(function, tensor_float(&computed, n), tensor_float(&expected, n));
        }
        tensor_unref(&computed);
        tensor_unref(&expected);
    }
    fixture_end(&fixture);
}

/* Instruction sets that the machine lacks are the next smaller one there. */
static void
every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    static const CpuIsa isas[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};
    static const Shape left = {.rank = 2, .dims = {4000, 29}};
    static const Shape right = {.rank = 1, .dims = {29}};
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    for (size_t index = 0; index < COUNT_OF(NEAR_FUNCTIONS); index++) {
        Tensor expected = {0};
        for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
            cpu_isa_limit(isas[isa]);
            Tensor output = run_function(&fixture, NEAR_FUNCTIONS[index].text, &left, &right, true);
            assert_same_bits(&expected, &output);
            tensor_unref(&output);
        }
        tensor_unref(&expected);
    }
    cpu_isa_limit(CPU_ISA_AVX512);
    fixture_end(&fixture);
}

static void
a_bias_of_the_values_shape_is_refused(void **state)
{
    (void)state;
    RunFixture fixture;
    RunOutcome outcome = {0};
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "a = _Arg() T=float32 index=0\nb = _Arg() T=float32 index=1\n"
                                  "y = BiasAdd(a, b) T=float32\nout = _Retval(y) T=float32 index=0\n");
    Shape square = {.rank = 2, .dims = {3, 3}};
    Tensor args[] = {values(&fixture, &square, 1), values(&fixture, &square, 2)};
    (void)fixture_fast_node(partition, "y");
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "input 1 has shape [3,3], not rank 1");
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_the_bits_of_its_definition),
        cmocka_unit_test(every_exact_function_has_the_bits_of_the_reference),
        cmocka_unit_test(clips_let_nan_pass_and_the_upper_limit_win),
        cmocka_unit_test(other_functions_are_near_the_reference),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(numbers_smaller_than_the_normal_ones_are_kept),
        cmocka_unit_test(a_bias_of_the_values_shape_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
