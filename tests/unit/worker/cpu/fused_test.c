#include <math.h>

#include "shared/base/text.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/partition_runs.h"
#include "tests/support/reference_run.h"
#include "worker/runtime/partition/schedule.h"

typedef struct FusedCase {
    const char *op;
    const char *attributes;
    Shape input;
    Shape weights;
    Shape addend; /* of the output's shape; rank 0: none */
    int64_t channels;
    const char *steps; /* applied after the bias, and after the addend if there is one */
} FusedCase;

#define SHAPE2(a, b)                                                                                         \
    {                                                                                                        \
        .rank = 2, .dims = { a, b }                                                                          \
    }
#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }
#define NONE                                                                                                 \
    {                                                                                                        \
        .rank = 0                                                                                            \
    }
#define SAME "strides=[1,1,1,1] padding='SAME'"

/* Several tiles, and sizes that no vector width divides. */
static const FusedCase CASES[] = {
    {"_FusedConv2D", SAME, SHAPE4(1, 80, 80, 16), SHAPE4(3, 3, 16, 30), NONE, 30, ",'Relu'"},
    {"_FusedConv2D", SAME, SHAPE4(2, 9, 7, 3), SHAPE4(3, 3, 3, 5), SHAPE4(2, 9, 7, 5), 5, ",'Relu6'"},
    {"_FusedConv2D", SAME, SHAPE4(1, 5, 7, 3), SHAPE4(1, 1, 3, 5), SHAPE4(1, 5, 7, 5), 5, ""},
    {"_FusedConv2D", SAME, SHAPE4(1, 5, 7, 3), SHAPE4(1, 1, 3, 5), NONE, 5, ",'GeluExact'"},
    {"_FusedConv2D", SAME " data_format='NCHW'", SHAPE4(1, 3, 9, 7), SHAPE4(3, 3, 3, 5), SHAPE4(1, 5, 9, 7),
        5, ",'LeakyRelu'"},
    {"_FusedDepthwiseConv2dNative", SAME, SHAPE4(1, 9, 7, 6), SHAPE4(3, 3, 6, 2), NONE, 12,
        ",'_FusedHardSwish'"},
    {"FusedDepthwiseConv2dNative", SAME, SHAPE4(1, 9, 7, 6), SHAPE4(3, 3, 6, 1), NONE, 6, ",'Relu6'"},
    {"_FusedOnnxConv", "kernel_shape=[3,3] pads=[1,1,1,1]", SHAPE4(1, 16, 60, 62), SHAPE4(40, 16, 3, 3),
        SHAPE4(1, 40, 60, 62), 40, ",'Relu'"},
    {"_FusedOnnxConv", "kernel_shape=[2]", SHAPE3(2, 3, 9), SHAPE3(5, 3, 2), NONE, 5, ",'Sigmoid'"},
    {"_FusedOnnxConv", "kernel_shape=[3,3] pads=[1,1,1,1] group=20", SHAPE4(2, 20, 15, 17),
        SHAPE4(20, 1, 3, 3), NONE, 20, ",'_FusedSwish'"},
    {"_FusedMatMul", "", SHAPE2(300, 65), SHAPE2(65, 1030), SHAPE2(300, 1030), 1030, ",'Relu'"},
    {"_FusedMatMul", "transpose_a=true transpose_b=true", SHAPE2(6, 9), SHAPE2(7, 6), NONE, 7, ",'Tanh'"},
    {"_FusedMatMul", "", SHAPE2(3, 5), SHAPE2(5, 7), NONE, 7, ",'Elu'"},
    {"_FusedBatchMatMulV2", "", SHAPE3(2, 3, 5), SHAPE2(5, 7), SHAPE3(2, 3, 7), 7, ""},
    {"_FusedBatchMatMulV2", "adj_y=true", SHAPE3(2, 3, 5), SHAPE3(2, 7, 5), NONE, 7, ",'GeluApproximate'"},
};

/* Small enough that not all activations are at their limits. */
static Tensor
numbers(RunFixture *fixture, const Shape *shape, int seed)
{
    Tensor tensor = fixture_numbers(fixture, shape, seed);
    for (int64_t i = 0; i < tensor_element_count(&tensor); i++) {
        ((float *)tensor.data)[i] *= 0.25F;
    }
    return tensor;
}

enum { INPUTS_MAX = 4 };

typedef struct FusedRun {
    RunFixture fixture;
    Partition *partition;
    Tensor inputs[INPUTS_MAX];
    uint32_t input_count;
    RunOutcome outcome;
} FusedRun;

static void
run_begin(FusedRun *run, const FusedCase *one, int thread_count)
{
    Shape channels = shape_vector(one->channels);
    bool has_addend = one->addend.rank > 0;
    const Shape *const shapes[] = {&one->input, &one->weights, &channels, &one->addend};
    *run = (FusedRun){.input_count = has_addend ? 4 : 3};
    fixture_begin(&run->fixture, thread_count);
    const char *text = text_format(run->fixture.call.arena,
        "x = _Arg() T=float32 index=0\n"
        "w = _Arg() T=float32 index=1\n"
        "b = _Arg() T=float32 index=2\n"
        "%s"
        "y = %s(x, w, b%s) T=float32 num_args=%d fused_ops=['BiasAdd'%s%s] %s\n"
        "out = _Retval(y) T=float32 index=0\n",
        has_addend ? "a = _Arg() T=float32 index=3\n" : "", one->op, has_addend ? ", a" : "",
        has_addend ? 2 : 1, has_addend ? ",'Add'" : "", one->steps, one->attributes);
    run->partition = fixture_compile(&run->fixture, text);
    for (uint32_t index = 0; index < run->input_count; index++) {
        run->inputs[index] = numbers(&run->fixture, shapes[index], (int)index + 1);
    }
}

static void
run_once(FusedRun *run)
{
    Tensor args[INPUTS_MAX] = {0};
    for (uint32_t index = 0; index < run->input_count; index++) {
        args[index] = tensor_ref(&run->inputs[index]);
    }
    outcome_clear(&run->outcome);
    run->outcome = (RunOutcome){0};
    fixture_run(&run->fixture, run->partition, NULL, args, run->input_count, &run->outcome);
    assert_string_equal(run->outcome.message, "");
}

static void
run_end(FusedRun *run)
{
    outcome_clear(&run->outcome);
    for (uint32_t index = 0; index < run->input_count; index++) {
        tensor_unref(&run->inputs[index]);
    }
    partition_unref(TAKE(run->partition));
    fixture_end(&run->fixture);
}

/* The sums are exact; oneDNN's transcendental functions are within 2⁻²⁰ of the right value. */
static void
assert_as_reference(FusedRun *run)
{
    double tolerance = 0x1p-20;
    const ScheduleNode *node = &run->partition->nodes[run->input_count];
    Tensor expected = {0};
    assert_ptr_not_equal(node->kernel, reference_find(node->node));
    assert_status(&run->fixture.call, STATUS_OK,
        reference_compute(&run->fixture.call, node->node, run->inputs, &expected));
    const Tensor *output = &run->outcome.outputs[0];
    assert_true(shape_equal(&expected.shape, &output->shape));
    for (int64_t index = 0; index < tensor_element_count(output); index++) {
        double wanted = (double)tensor_float(&expected, index);
        double distance = fabs((double)tensor_float(output, index) - wanted);
        if (!(distance <= tolerance * fmax(1, fabs(wanted)))) {
            fail_msg("%s: element %lld is %g off", node->node->op->name.data, (long long)index, distance);
        }
    }
    tensor_unref(&expected);
}

static void
every_form_agrees_with_the_reference(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        FusedRun run;
        run_begin(&run, &CASES[index], 2);
        run_once(&run);
        run_once(&run);
        assert_as_reference(&run);
        run_end(&run);
    }
}

static void
any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        FusedRun one;
        FusedRun three;
        run_begin(&one, &CASES[index], 1);
        run_begin(&three, &CASES[index], 3);
        run_once(&one);
        run_once(&three);
        assert_memory_equal(one.outcome.outputs[0].data, three.outcome.outputs[0].data,
            tensor_byte_size(&one.outcome.outputs[0]));
        run_end(&one);
        run_end(&three);
    }
}

/* oneDNN's own Relu turns NaN into 0. */
static void
nan_stays_nan(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(CASES); index++) {
        FusedRun run;
        run_begin(&run, &CASES[index], 1);
        ((float *)run.inputs[2].data)[0] = NAN;
        run_once(&run);
        if (!isnan(tensor_float(&run.outcome.outputs[0], 0))) {
            fail_msg("case %zu makes %g of NaN", index, (double)tensor_float(&run.outcome.outputs[0], 0));
        }
        run_end(&run);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_agrees_with_the_reference),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(nan_stays_nan),
    };
    return cmocka_run_group_tests_name("worker/cpu/fused", tests, NULL, NULL);
}
