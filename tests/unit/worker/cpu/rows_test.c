/* Reductions, softmax and layer normalisation beside the reference kernels: all shapes in which dimensions
 * can lie, all instruction sets, one thread and several. */
#include <math.h>

#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"
#include "tests/support/reference_run.h"
#include "worker/cpu/vector/isa.h"

/* A node over x, and how far its results may be from the reference's: both keep sums in double, so that only
 * the last roundings differ. */
typedef struct Case {
    const char *node;
    Shape shape;
    float error_max; /* times the larger of 1 and the expected number */
} Case;

#define AXES(values) "axes = Const() dtype=int32 value=int32" values "\n"
#define SHAPE2(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }

static const Case CASES[] = {
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
    {"y = LogSoftmax(x) T=float32", SHAPE2(40, 6625), 0x1p-21F},
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
};

/* Makes numbers from -8 to 8 that no two rows share. */
static Tensor
numbers(const Shape *shape)
{
    Tensor tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, shape, &tensor));
    uint32_t state = 12345;
    for (int64_t n = 0; n < tensor_element_count(&tensor); n++) {
        state = state * 1664525 + 1013904223;
        ((float *)tensor.data)[n] = ((float)(state >> 8) * 0x1p-24F - 0.5F) * 16;
    }
    return tensor;
}

/* Runs the node on the CPU device, and in `ret_expected`, unless that is NULL, on the reference kernels. */
static Tensor
run_node(const Case *tried, int threads, const Tensor *x, Tensor *ret_expected)
{
    RunFixture fixture;
    RunOutcome outcome = {0};
    char text[1024];
    snprintf(text, sizeof text, "x = _Arg() T=float32 index=0\n%s\nout = _Retval(y) T=float32 index=0\n",
        tried->node);
    fixture_begin(&fixture, threads);
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    (void)fixture_fast_node(partition, "y");
    Tensor args[] = {tensor_ref(x)};
    fixture_run(&fixture, partition, NULL, args, 1, &outcome);
    assert_string_equal(outcome.message, "");
    Tensor output = {0};
    assert_same_bits(&output, &outcome.outputs[0]);
    outcome_clear(&outcome);
    if (ret_expected != NULL) {
        Endpoint fetch = {.node = graph_find(partition->graph, SLICE("y"))->id};
        ReferenceFeed feed = {
            .endpoint = {.node = graph_find(partition->graph, SLICE("x"))->id}, .tensor = *x};
        assert_status(&fixture.call, STATUS_OK,
            reference_run(&fixture.call, partition->graph, &feed, 1, &fetch, 1, ret_expected));
    }
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
    return output;
}

static void
assert_near(const Case *tried, const Tensor *computed, const Tensor *expected)
{
    assert_true(shape_equal(&computed->shape, &expected->shape));
    for (int64_t n = 0; n < tensor_element_count(expected); n++) {
        float wanted = tensor_float(expected, n);
        float got = tensor_float(computed, n);
        float scale = fabsf(wanted) > 1 ? fabsf(wanted) : 1;
        bool is_equal = got == wanted || (isnan(got) && isnan(wanted));
        if (!is_equal && !(fabsf(got - wanted) <= tried->error_max * scale)) {
            fail_msg(
                "%s: element %lld is %a, not %a", tried->node, (long long)n, (double)got, (double)wanted);
        }
    }
}

static void
results_are_near_the_reference_kernels(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        Tensor expected = {0};
        Tensor x = numbers(&CASES[index].shape);
        Tensor computed = run_node(&CASES[index], 1, &x, &expected);
        assert_near(&CASES[index], &computed, &expected);
        tensor_unref(&computed);
        tensor_unref(&expected);
        tensor_unref(&x);
    }
}

/* An instruction set that the machine lacks is the next smaller one there. */
static void
bits_depend_neither_on_threads_nor_on_the_instruction_set(void **state)
{
    (void)state;
    static const CpuIsa isas[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        Tensor expected = {0};
        Tensor x = numbers(&CASES[index].shape);
        for (size_t isa = 0; isa < COUNT_OF(isas); isa++) {
            cpu_isa_limit(isas[isa]);
            Tensor computed = run_node(&CASES[index], isa == 0 ? 1 : 3, &x, NULL);
            assert_same_bits(&expected, &computed);
            tensor_unref(&computed);
        }
        tensor_unref(&expected);
        tensor_unref(&x);
    }
    cpu_isa_limit(CPU_ISA_AVX512);
}

static void
infinities_and_nan_are_the_references(void **state)
{
    (void)state;
    static const float edges[] = {INFINITY, -INFINITY, NAN, 0, -0.0F, 3e38F, 0x1p-149F};
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        for (size_t edge = 0; edge < COUNT_OF(edges); edge++) {
            Tensor expected = {0};
            Tensor x = numbers(&CASES[index].shape);
            int64_t count = tensor_element_count(&x);
            for (int64_t n = 0; n < count; n += 1 + count / 5) {
                ((float *)x.data)[n] = edges[edge];
            }
            Tensor computed = run_node(&CASES[index], 2, &x, &expected);
            assert_near(&CASES[index], &computed, &expected);
            tensor_unref(&computed);
            tensor_unref(&expected);
            tensor_unref(&x);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_near_the_reference_kernels),
        cmocka_unit_test(bits_depend_neither_on_threads_nor_on_the_instruction_set),
        cmocka_unit_test(infinities_and_nan_are_the_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
