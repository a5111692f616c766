#include "tests/support/cmocka_all.h"

#include <math.h>

#include "tests/support/partition_runs.h"
#include "worker/cpu/onednn/convolve_plan.h"
#include "worker/runtime/partition/schedule.h"

typedef struct ConvolutionCase {
    const char *op;
    const char *attributes;
    Shape input;
    Shape filter;
    bool has_bias;
} ConvolutionCase;

#define SHAPE4(a, b, c, d)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { a, b, c, d }                                                                    \
    }
#define SHAPE3(a, b, c)                                                                                      \
    {                                                                                                        \
        .rank = 3, .dims = { a, b, c }                                                                       \
    }
#define SHAPE5(a, b, c, d, e)                                                                                \
    {                                                                                                        \
        .rank = 5, .dims = { a, b, c, d, e }                                                                 \
    }
#define SHAPE6(a, b, c, d, e, f)                                                                             \
    {                                                                                                        \
        .rank = 6, .dims = { a, b, c, d, e, f }                                                              \
    }

static const ConvolutionCase CASES[] = {
    {"Conv2D", "strides=[1,1,1,1] padding='SAME'", SHAPE4(2, 9, 8, 3), SHAPE4(3, 3, 3, 5), false},
    {"Conv2D", "strides=[1,2,2,1] padding='SAME'", SHAPE4(1, 10, 7, 4), SHAPE4(5, 3, 4, 6), false},
    {"Conv2D", "strides=[1,3,2,1] padding='VALID'", SHAPE4(1, 11, 12, 2), SHAPE4(2, 3, 2, 4), false},
    {"Conv2D", "strides=[1,1,1,1] padding='SAME' dilations=[1,2,3,1]", SHAPE4(1, 9, 9, 4), SHAPE4(3, 3, 2, 6),
        false},
    {"Conv2D", "strides=[1,1,1,1] padding='SAME'", SHAPE4(1, 80, 80, 16), SHAPE4(3, 3, 16, 32), false},
    {"Conv2D", "strides=[1,1,1,1] padding='VALID'", SHAPE4(3, 1, 1, 7), SHAPE4(1, 1, 7, 9), false},
    {"DepthwiseConv2dNative", "strides=[1,1,1,1] padding='SAME'", SHAPE4(2, 7, 9, 6), SHAPE4(3, 3, 6, 2),
        false},
    {"onnx::Conv", "kernel_shape=[3,3] pads=[1,1,1,1]", SHAPE4(2, 3, 9, 11), SHAPE4(8, 3, 3, 3), true},
    {"onnx::Conv", "kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]", SHAPE4(1, 16, 60, 62),
        SHAPE4(40, 16, 3, 3), true},
    {"onnx::Conv", "kernel_shape=[5,1] pads=[0,0,4,0] group=2", SHAPE4(1, 6, 13, 5), SHAPE4(4, 3, 5, 1),
        false},
    {"onnx::Conv", "kernel_shape=[3,3] pads=[2,2,2,2] dilations=[2,2] group=8", SHAPE4(1, 8, 12, 12),
        SHAPE4(8, 1, 3, 3), true},
    {"onnx::Conv", "kernel_shape=[3] pads=[1,1] strides=[2]", SHAPE3(2, 5, 17), SHAPE3(6, 5, 3), true},
    {"onnx::Conv", "kernel_shape=[50] strides=[16]", SHAPE3(2, 1, 176), SHAPE3(33, 1, 50), false},
    {"onnx::Conv", "kernel_shape=[3] pads=[1,1]", SHAPE3(2, 7, 2003), SHAPE3(5, 7, 3), true},
    {"onnx::Conv", "kernel_shape=[2,2,2]", SHAPE5(2, 3, 17, 13, 11), SHAPE5(4, 3, 2, 2, 2), false},
    {"onnx::Conv", "kernel_shape=[2,3,2] auto_pad='SAME_UPPER'", SHAPE5(1, 3, 5, 6, 7), SHAPE5(4, 3, 2, 3, 2),
        false},
    {"onnx::Conv", "pads=[1,1,1,1] strides=[2,1]", SHAPE4(2, 3, 9, 11), SHAPE4(8, 3, 3, 3), true},
    {"onnx::Conv", "strides=[1,1,1,1]", SHAPE6(1, 2, 3, 4, 3, 2), SHAPE6(3, 2, 2, 2, 2, 2), false},
    {"onnx::Conv", "pads=[2,0] strides=[9223372036854775807]", SHAPE3(1, 2, 5), SHAPE3(3, 2, 3), false},
    {"onnx::Conv", "pads=[2,0,2,0] strides=[9223372036854775807,9223372036854775807]", SHAPE4(1, 2, 5, 5),
        SHAPE4(3, 2, 3, 3), false},
    {"onnx::Conv", "kernel_shape=[1,1]", SHAPE4(3, 70, 1, 1), SHAPE4(37, 70, 1, 1), true},
    {"onnx::Conv", "kernel_shape=[1,1] strides=[2,3]", SHAPE4(1, 9, 1, 1), SHAPE4(300, 9, 1, 1), false},
    {"onnx::Conv", "", SHAPE4(2, 5, 7, 6), SHAPE4(8, 5, 7, 6), true},
    {"onnx::Conv", "dilations=[2,2]", SHAPE4(1, 5, 5, 1), SHAPE4(8, 5, 3, 1), false},
    {"onnx::Conv", "kernel_shape=[1]", SHAPE3(2, 5, 1), SHAPE3(4, 5, 1), true},
    {"onnx::Conv", "kernel_shape=[1,1] pads=[6,0,6,0]", SHAPE4(1, 64, 4, 60), SHAPE4(64, 64, 1, 1), false},
};

static void
run_case(const ConvolutionCase *one, int thread_count)
{
    RunFixture fixture;
    fixture_begin(&fixture, thread_count);
    char text[1024];
    snprintf(text, sizeof text,
        "x = _Arg() T=float32 index=0\n"
        "w = _Arg() T=float32 index=1\n"
        "%s"
        "y = %s(x, w%s) T=float32 %s\n"
        "out = _Retval(y) T=float32 index=0\n",
        one->has_bias ? "b = _Arg() T=float32 index=2\n" : "", one->op, one->has_bias ? ", b" : "",
        one->attributes);
    AUTO_PARTITION partition = fixture_compile(&fixture, text);
    Shape bias = shape_vector(one->filter.dims[0]);
    Tensor inputs[3] = {
        fixture_numbers(&fixture, &one->input, 1), fixture_numbers(&fixture, &one->filter, 2)};
    if (one->has_bias) {
        inputs[2] = fixture_numbers(&fixture, &bias, 3);
    }
    uint32_t input_count = one->has_bias ? 3 : 2;
    fixture_expect_reference(&fixture, partition, input_count, inputs, input_count);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
every_form_agrees_with_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        run_case(&CASES[i], 2);
    }
}

static const char *const CONSTANT_FILTER =
    "x = _Arg() T=float32 index=0\n"
    "w = Const() dtype=float32 value=float32<24,16,3,3>(0.37)\n"
    "y = onnx::Conv(x, w) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n"
    "out = _Retval(y) T=float32 index=0\n";

static void
any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    AUTO_TENSOR expected = {0};
    for (int threads = 1; threads <= 4; threads *= 2) {
        RunFixture fixture;
        fixture_begin(&fixture, threads);
        AUTO_PARTITION partition = fixture_compile(&fixture, CONSTANT_FILTER);
        for (int round = 0; round < 3; round++) {
            RunOutcome outcome = {0};
            Shape shape = SHAPE4(2, 16, 70, 70);
            Tensor arg = fixture_numbers(&fixture, &shape, 4);
            for (int64_t i = 0; i < tensor_element_count(&arg); i++) {
                ((float *)arg.data)[i] *= i % 5 == 0 ? 1000.1F : 0.013F;
            }
            fixture_run(&fixture, partition, NULL, &arg, 1, &outcome);
            assert_string_equal(outcome.message, "");
            assert_same_bits(&expected, &outcome.outputs[0]);
            outcome_clear(&outcome);
        }
        partition_unref(TAKE(partition));
        fixture_end(&fixture);
    }
}

static const char *const GATE = "x = _Arg() T=float32 index=0\n"
                                "w = Const() dtype=float32 value=float32<130,70,1,1>(0.37;-1.3;2.1)\n"
                                "b = Const() dtype=float32 value=float32<130>(0.37)\n"
                                "y = onnx::Conv(x, w, b) T=float32 kernel_shape=[1,1]\n"
                                "out = _Retval(y) T=float32 index=0\n";

/* Makes images of 70 channels of one position, from `first` on, whose sums depend on every rounding. */
static Tensor
pooled_images(RunFixture *fixture, int64_t first, int64_t count)
{
    float values[3 * 70];
    Shape shape = SHAPE4(count, 70, 1, 1);
    for (int64_t i = 0; i < count * 70; i++) {
        values[i] = sinf((float)(first * 70 + i)) * ((first * 70 + i) % 5 == 0 ? 1000.1F : 0.013F);
    }
    return fixture_floats(fixture, &shape, values);
}

static void
an_image_alone_has_the_bits_of_one_in_a_batch(void **state)
{
    (void)state;
    enum { IMAGES = 3, OUTPUTS = 130 };
    RunFixture fixture;
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, GATE);
    RunOutcome together = {0};
    Tensor all = pooled_images(&fixture, 0, IMAGES);
    fixture_run(&fixture, partition, NULL, &all, 1, &together);
    for (int64_t image = 0; image < IMAGES; image++) {
        RunOutcome alone = {0};
        Tensor one = pooled_images(&fixture, image, 1);
        fixture_run(&fixture, partition, NULL, &one, 1, &alone);
        assert_memory_equal((const float *)together.outputs[0].data + image * OUTPUTS, alone.outputs[0].data,
            OUTPUTS * sizeof(float));
        outcome_clear(&alone);
    }
    outcome_clear(&together);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* Only the middle of the filter meets the one input. */
static void
padding_makes_no_nan_of_an_infinite_filter(void **state)
{
    (void)state;
    RunFixture fixture;
    fixture_begin(&fixture, 1);
    AUTO_PARTITION partition =
        fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                  "w = _Arg() T=float32 index=1\n"
                                  "y = onnx::Conv(x, w) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n"
                                  "out = _Retval(y) T=float32 index=0\n");
    Shape image = SHAPE4(1, 1, 1, 1);
    Shape filter = SHAPE4(1, 1, 3, 3);
    float input[] = {2};
    float numbers[] = {INFINITY, NAN, -INFINITY, 1, 3, 1, 1, 1, INFINITY};
    Tensor args[] = {fixture_floats(&fixture, &image, input), fixture_floats(&fixture, &filter, numbers)};
    RunOutcome outcome = {0};
    fixture_run(&fixture, partition, NULL, args, 2, &outcome);
    assert_string_equal(outcome.message, "");
    assert_true(tensor_float(&outcome.outputs[0], 0) == 6);
    outcome_clear(&outcome);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

/* 56 rows are ten tiles of 5 and one of 6: a tile of one row would have no fast primitive. */
static void
no_tile_is_left_to_the_library_reference(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        int64_t size;
        int64_t inputs;
        int64_t outputs;
    } layers[] = {
        {112, 3, 32, 64},
        {56, 1, 64, 256},
        {56, 1, 256, 64},
        {56, 3, 64, 64},
        {28, 1, 512, 128},
        {14, 1, 256, 1024},
        {7, 1, 2048, 512},
        {35, 1, 192, 48},
        {56, 1, 24, 144},
    };
    for (size_t i = 0; i < COUNT_OF(layers); i++) {
        int64_t rows = layers[i].rows;
        int64_t size = layers[i].size;
        ConvolveShape shape = {
            .rank = 2,
            .batch = 1,
            .groups = 1,
            .inputs = layers[i].inputs,
            .outputs = layers[i].outputs,
            .input = {rows, rows},
            .output = {rows, rows},
            .size = {size, size},
            .stride = {1, 1},
            .dilation = {1, 1},
            .before = {size / 2, size / 2},
            .is_channels_last = 1,
        };
        AUTO_ARENA arena = arena_new(1 << 20);
        Call call = {.arena = arena};
        ConvolvePlan *plan = NULL;
        assert_status(&call, STATUS_OK, convolve_plan_new(&call, &shape, &plan));
        for (int64_t tile = 0; tile < plan->tile_count; tile++) {
            assert_false(primitive_is_slow(plan->tiles[tile].primitive));
        }
        convolve_plan_free(plan);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_agrees_with_the_reference),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(an_image_alone_has_the_bits_of_one_in_a_batch),
        cmocka_unit_test(padding_makes_no_nan_of_an_infinite_filter),
        cmocka_unit_test(no_tile_is_left_to_the_library_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
