#include "tests/support/cmocka_all.h"

#include <math.h>

#include "shared/base/memory.h"
#include "tests/support/call_fixture.h"
#include "worker/cpu/convolve/planes.h"
#include "worker/cpu/convolve/planes_plan.h"
#include "worker/cpu/device.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/finite.h"
#include "worker/cpu/vector/isa.h"

/* One convolution, its operands and what they are computed to. */
typedef struct Trial {
    ConvolveShape shape;
    bool is_constant; /* the filter is packed once */
    float *input;
    float *filter;
    float *bias;
    float *addend;
    float *output;
    float *expected;
    int64_t input_count; /* of all images */
    int64_t output_count;
    int64_t filter_count;
} Trial;

/* A convolution in two spatial dimensions unless the last sizes are given. */
typedef struct Form {
    int64_t batch, groups, inputs, outputs;
    int64_t input[CONVOLVE_RANK_MAX];
    int64_t size[CONVOLVE_RANK_MAX];
    int64_t stride[CONVOLVE_RANK_MAX];
    int64_t dilation[CONVOLVE_RANK_MAX];
    int64_t before[CONVOLVE_RANK_MAX];
    int64_t after[CONVOLVE_RANK_MAX];
    int64_t rank;
} Form;

/* Filters of one position and of many, padding on one side and more of it than the filter covers, strides
 * beyond the filter, dilation, groups, depthwise with lines of all widths, one and three dimensions, panels
 * that are not full, inner dimensions of several blocks, more rows than a micro-tile has; positions that end
 * within the first half of a panel and within the second, of one tile and of several, in planes and in
 * lines; channels that fill a panel and half of the next one, where positions are rows; lines that end with
 * a panel, and shortly before one; padding above and below in several blocks of channels, more of it than the
 * filter covers, with dilation, and under a filter that is larger than a block. */
static const Form FORMS[] = {
    {1, 1, 1, 1, {1}, {1}, {1}, {1}, {0}, {0}, 1},
    {2, 1, 3, 5, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 1, 5, 25, {7, 33}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {3, 1, 4, 13, {11, 12}, {3, 2}, {2, 2}, {1, 1}, {2, 0}, {0, 3}, 2},
    {1, 1, 2, 3, {13, 14}, {2, 1}, {3, 4}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 2, 3, 4, {12, 10}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}, 2},
    {2, 1, 40, 2, {10, 17}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 2}, 2},
    {1, 1, 70, 31, {8, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 300, 7, {5, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 20, 130, {30, 31}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 1, 3, 16, {31, 30}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 2},
    {1, 1, 1, 2, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {6, 7}, {8, 5}, 2},
    {2, 7, 1, 1, {14, 15}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 5, 1, 1, {7, 7}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 2},
    {1, 3, 1, 1, {14, 28}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 2},
    {2, 2, 1, 1, {13, 67}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 2}, 2},
    {1, 3, 1, 1, {9, 75}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}, 2},
    {1, 2, 1, 1, {20, 21}, {7, 7}, {2, 2}, {1, 1}, {3, 2}, {3, 4}, 2},
    {1, 2, 1, 1, {12, 9}, {7, 7}, {1, 1}, {1, 1}, {1, 0}, {0, 0}, 2},
    {1, 2, 1, 1, {5, 40}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 2}, 2},
    {1, 2, 1, 1, {16, 40}, {5, 5}, {1, 1}, {2, 2}, {4, 4}, {4, 4}, 2},
    {1, 2, 1, 1, {16, 40}, {5, 5}, {1, 2}, {1, 1}, {2, 2}, {2, 2}, 2},
    {1, 3, 1, 1, {60, 61}, {3, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 0}, 2},
    {2, 5, 1, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 4, 1, 1, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 3, 1, 1, {8, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 3, 1, 1, {5, 5}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 2},
    {2, 3, 1, 1, {11, 12}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 3, 1, 1, {2, 3}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 2},
    {1, 3, 1, 1, {8, 16}, {5, 5}, {2, 2}, {1, 1}, {1, 2}, {2, 1}, 2},
    {1, 2, 1, 1, {15, 112}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 2, 1, 1, {17, 150}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 2}, 2},
    {1, 2, 1, 1, {9, 33}, {7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 2, 1, 1, {9, 70}, {3, 3}, {2, 2}, {1, 1}, {4, 5}, {4, 20}, 2},
    {40, 9, 1, 1, {6, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 4, 1, 1, {9, 70}, {2, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 3, 1, 1, {8, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {2, 3, 1, 2, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 16, 4, 4, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 1, 6, 4, {50}, {5}, {3}, {2}, {4}, {4}, 1},
    {1, 5, 1, 1, {40}, {3}, {1}, {1}, {1}, {1}, 1},
    {1, 1, 2, 3, {4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0}, {0, 1, 2}, 3},
    {1, 2, 1, 1, {4, 5, 6}, {3, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 3},
    {2, 1, 530, 30, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 2, 270, 13, {5, 11}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 260, 14, {8, 12}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 70, 26, {40, 51}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {2, 1, 9, 49, {28, 30}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 30, 40, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 2, 20, 18, {19, 20}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 1, 12, 20, {4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0}, {0, 1, 2}, 3},
    {1, 1, 66, 17, {37, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 60, 5, {150}, {5}, {1}, {1}, {2}, {2}, 1},
    {2, 1, 5, 13, {20, 62}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 1, 3, 26, {75, 128}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 1, 4, 2, {40, 128}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {2, 2, 3, 7, {11, 48}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
    {1, 1, 3, 30, {18, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 1, 2, 3, {4, 5, 47}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0}, {0, 1, 2}, 3},
    {1, 1, 30, 40, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {4, 1}, {5, 2}, 2},
    {2, 1, 64, 40, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
    {1, 1, 20, 33, {11, 9}, {5, 3}, {2, 1}, {3, 1}, {5, 1}, {4, 1}, 2},
    {1, 1, 2, 40, {20, 20}, {17, 17}, {1, 1}, {1, 1}, {8, 8}, {8, 8}, 2},
};

static ConvolveShape
shape_of(const Form *form)
{
    ConvolveShape shape = {
        .rank = form->rank,
        .batch = form->batch,
        .groups = form->groups,
        .inputs = form->inputs,
        .outputs = form->outputs,
    };
    int64_t step = 1;
    for (int64_t i = form->rank - 1; i >= 0; i--) {
        int64_t whole = form->input[i] + form->before[i] + form->after[i];
        shape.input[i] = form->input[i];
        shape.size[i] = form->size[i];
        shape.stride[i] = form->stride[i];
        shape.dilation[i] = form->dilation[i];
        shape.before[i] = form->before[i];
        shape.output[i] = (whole - (form->size[i] - 1) * form->dilation[i] - 1) / form->stride[i] + 1;
        shape.filter_space[i] = step;
        step *= form->size[i];
    }
    shape.filter_input = step;
    shape.filter_output = step * form->inputs;
    shape.filter_group = shape.filter_output * form->outputs;
    return shape;
}

static float *
floats(int64_t count)
{
    float *made = memory_new((size_t)count, sizeof *made);
    assert_non_null(made);
    return made;
}

/* Returns numbers whose sums depend on the order of summation and on every rounding. */
static float *
rough_floats(int64_t count, int64_t seed)
{
    float *made = floats(count);
    for (int64_t i = 0; i < count; i++) {
        made[i] = sinf((float)((i * 31 + seed) % 9973)) * (i % 3 == 0 ? 1000.0F : 0.01F);
    }
    return made;
}

static void
trial_begin(Trial *trial, const Form *form)
{
    ConvolveShape shape = shape_of(form);
    int64_t entries = shape.batch * shape.groups;
    *trial = (Trial){
        .shape = shape,
        .input_count = entries * shape.inputs * convolve_product(shape.input, 0, shape.rank),
        .output_count = entries * shape.outputs * convolve_product(shape.output, 0, shape.rank),
        .filter_count = shape.groups * shape.filter_group,
    };
    trial->input = rough_floats(trial->input_count, 1);
    trial->filter = rough_floats(trial->filter_count, 2);
    trial->output = floats(trial->output_count);
    trial->expected = floats(trial->output_count);
}

static void
trial_end(Trial *trial)
{
    memory_free(trial->input);
    memory_free(trial->filter);
    memory_free(trial->bias);
    memory_free(trial->addend);
    memory_free(trial->output);
    memory_free(trial->expected);
}

static void
trial_run(const Trial *trial, int thread_count, const ConvolveOperands *operands)
{
    Device *device = NULL;
    Planes *planes = NULL;
    CpuDeviceOptions options = {.thread_count = thread_count, .memory_limit = 1 << 30};
    Call call = {.arena = arena_new(1 << 20)};
    assert_status(&call, STATUS_OK, cpu_device_new(&call, &options, &device));
    assert_status(&call, STATUS_OK, planes_new(&call, &planes));
    if (trial->is_constant) {
        planes_set_filter(planes, operands->filter);
    }
    assert_status(&call, STATUS_OK, planes_run(&call, planes, device, &trial->shape, operands));
    planes_free(planes);
    cpu_device_free(device);
    arena_free(call.arena);
}

static ConvolveOperands
trial_operands(const Trial *trial)
{
    return (ConvolveOperands){
        .input = trial->input,
        .filter = trial->filter,
        .bias = trial->bias,
        .addend = trial->addend,
        .output = trial->output,
    };
}

/* A place in up to three dimensions; those that a shape lacks come last here. */
typedef struct Place {
    int64_t at[CONVOLVE_RANK_MAX];
} Place;

static Place
place_of(const int64_t *sizes, int64_t rank, int64_t index)
{
    Place place = {{0}};
    for (int64_t i = rank - 1; i >= 0; i--) {
        place.at[i] = index % sizes[i];
        index /= sizes[i];
    }
    return place;
}

/* Returns the input that a tap reads for an output, in a channel; padding is 0. */
static float
input_at(const ConvolveShape *shape, const float *channel, const Place *output, const Place *tap)
{
    int64_t offset = 0;
    for (int64_t i = 0; i < shape->rank; i++) {
        int64_t at = output->at[i] * shape->stride[i] + tap->at[i] * shape->dilation[i] - shape->before[i];
        if (at < 0 || at >= shape->input[i]) {
            return 0;
        }
        offset = offset * shape->input[i] + at;
    }
    return channel[offset];
}

static float
sum_at(const Trial *trial, int64_t entry, int64_t row, const Place *output)
{
    const ConvolveShape *shape = &trial->shape;
    int64_t taps = convolve_product(shape->size, 0, shape->rank);
    int64_t plane = convolve_product(shape->input, 0, shape->rank);
    const float *filter =
        trial->filter + entry % shape->groups * shape->filter_group + row * shape->filter_output;
    float sum = 0;
    for (int64_t channel = 0; channel < shape->inputs; channel++) {
        const float *input = trial->input + (entry * shape->inputs + channel) * plane;
        for (int64_t tap = 0; tap < taps; tap++) {
            Place place = place_of(shape->size, shape->rank, tap);
            sum = fmaf(filter[channel * taps + tap], input_at(shape, input, output, &place), sum);
        }
    }
    return sum;
}

/* Computes a convolution by its definition. */
static void
convolve_plainly(Trial *trial)
{
    const ConvolveShape *shape = &trial->shape;
    int64_t plane = convolve_product(shape->output, 0, shape->rank);
    for (int64_t i = 0; i < trial->output_count; i++) {
        int64_t row = i / plane % shape->outputs;
        int64_t entry = i / plane / shape->outputs;
        Place output = place_of(shape->output, shape->rank, i % plane);
        trial->expected[i] = sum_at(trial, entry, row, &output);
    }
}

/* NaN is the same as any other NaN: its sign and payload are the processor's. */
static void
assert_expected(const Trial *trial, size_t form)
{
    for (int64_t i = 0; i < trial->output_count; i++) {
        bool are_nan = isnan(trial->expected[i]) && isnan(trial->output[i]);
        if (!are_nan && memcmp(&trial->expected[i], &trial->output[i], sizeof(float)) != 0) {
            fail_msg("form %zu: element %lld is %a, not %a", form, (long long)i, (double)trial->output[i],
                (double)trial->expected[i]);
        }
    }
}

static const CpuIsa ISAS[] = {CPU_ISA_PLAIN, CPU_ISA_AVX2, CPU_ISA_AVX512};

static void
every_output_is_one_chain_on_every_instruction_set(void **state)
{
    (void)state;
    for (size_t form = 0; form < COUNT_OF(FORMS); form++) {
        Trial trial;
        trial_begin(&trial, &FORMS[form]);
        convolve_plainly(&trial);
        ConvolveOperands operands = trial_operands(&trial);
        for (size_t i = 0; i < 2 * COUNT_OF(ISAS); i++) {
            cpu_isa_limit(ISAS[i / 2]);
            trial.is_constant = i % 2 == 0;
            trial_run(&trial, 2, &operands);
            assert_expected(&trial, form);
        }
        trial_end(&trial);
    }
}

static void
any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t form = 0; form < COUNT_OF(FORMS); form++) {
        Trial trial;
        trial_begin(&trial, &FORMS[form]);
        ConvolveOperands operands = trial_operands(&trial);
        trial_run(&trial, 1, &operands);
        memcpy(trial.expected, trial.output, (size_t)trial.output_count * sizeof(float));
        for (int threads = 2; threads <= 4; threads += 2) {
            memset(trial.output, 0, (size_t)trial.output_count * sizeof(float));
            trial_run(&trial, threads, &operands);
            assert_expected(&trial, form);
        }
        trial_end(&trial);
    }
}

static void
an_image_alone_has_the_bits_that_it_has_among_others(void **state)
{
    (void)state;
    for (size_t form = 0; form < COUNT_OF(FORMS); form++) {
        Form several = FORMS[form];
        several.batch = 5;
        Trial trial;
        trial_begin(&trial, &several);
        ConvolveOperands operands = trial_operands(&trial);
        trial_run(&trial, 2, &operands);
        memcpy(trial.expected, trial.output, (size_t)trial.output_count * sizeof(float));
        trial.shape.batch = 1;
        for (int64_t image = 0; image < several.batch; image++) {
            operands.input = trial.input + image * trial.input_count / several.batch;
            operands.output = trial.output + image * trial.output_count / several.batch;
            trial_run(&trial, 2, &operands);
        }
        assert_expected(&trial, form);
        trial_end(&trial);
    }
}

static void
nan_infinities_and_denormals_are_as_in_the_loop(void **state)
{
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e-42F, -1e-45F, -0.0F, 3.4e38F};
    for (size_t form = 0; form < COUNT_OF(FORMS); form++) {
        Trial trial;
        trial_begin(&trial, &FORMS[form]);
        for (int64_t i = 0; i < trial.input_count; i += 5) {
            trial.input[i] = odd[i / 5 % (int64_t)COUNT_OF(odd)];
        }
        convolve_plainly(&trial);
        ConvolveOperands operands = trial_operands(&trial);
        for (size_t i = 0; i < COUNT_OF(ISAS); i++) {
            cpu_isa_limit(ISAS[i]);
            trial_run(&trial, 2, &operands);
            assert_expected(&trial, form);
        }
        trial_end(&trial);
    }
}

static void
finish_plainly(Trial *trial)
{
    const ConvolveShape *shape = &trial->shape;
    int64_t plane = convolve_product(shape->output, 0, shape->rank);
    for (int64_t i = 0; i < trial->output_count && trial->bias != NULL; i++) {
        trial->expected[i] += trial->bias[i / plane % (shape->groups * shape->outputs)];
    }
    finish_run(&shape->finish, trial->addend, trial->expected, trial->output_count);
}

/* The runs have a bias or none, an addend or none, and a finish that limits can do or more than that. */
static void
a_finished_convolution_is_the_convolution_finished(void **state)
{
    (void)state;
    static const EpilogueActivation activations[] = {
        EPILOGUE_RELU, EPILOGUE_RELU6, EPILOGUE_HARD_SWISH, EPILOGUE_NONE};
    for (size_t form = 0; form < COUNT_OF(FORMS); form++) {
        for (size_t i = 0; i < 2 * COUNT_OF(activations); i++) {
            Trial trial;
            trial_begin(&trial, &FORMS[form]);
            cpu_isa_limit(ISAS[i % COUNT_OF(ISAS)]);
            trial_run(&trial, 1,
                &(ConvolveOperands){.input = trial.input, .filter = trial.filter, .output = trial.expected});
            trial.bias = i % 3 == 0 ? NULL : rough_floats(trial.shape.groups * trial.shape.outputs, 3);
            trial.addend = i % 2 == 0 ? NULL : rough_floats(trial.output_count, 4);
            trial.shape.finish.activation = (int32_t)activations[i / 2];
            finish_plainly(&trial);
            ConvolveOperands operands = trial_operands(&trial);
            trial_run(&trial, 2, &operands);
            assert_expected(&trial, form);
            trial_end(&trial);
        }
    }
}

/* 6 × 6 positions do not fill panels, 8 × 8 do: the filter is packed in another order for each. */
static void
a_constant_filter_serves_images_of_any_size(void **state)
{
    (void)state;
    static const int64_t sizes[] = {6, 8, 6, 9, 8};
    Form form = {1, 1, 140, 48, {6, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2};
    for (size_t isa = 0; isa < COUNT_OF(ISAS); isa++) {
        cpu_isa_limit(ISAS[isa]);
        Device *device = NULL;
        Planes *planes = NULL;
        CpuDeviceOptions options = {.thread_count = 2, .memory_limit = 1 << 30};
        Call call = {.arena = arena_new(1 << 20)};
        assert_status(&call, STATUS_OK, cpu_device_new(&call, &options, &device));
        assert_status(&call, STATUS_OK, planes_new(&call, &planes));
        float *filter = rough_floats(140 * 48, 2);
        planes_set_filter(planes, filter);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            form.input[0] = form.input[1] = sizes[i];
            Trial trial;
            trial_begin(&trial, &form);
            convolve_plainly(&trial);
            ConvolveOperands operands = trial_operands(&trial);
            operands.filter = filter;
            assert_status(&call, STATUS_OK, planes_run(&call, planes, device, &trial.shape, &operands));
            assert_expected(&trial, i);
            trial_end(&trial);
        }
        planes_free(planes);
        memory_free(filter);
        cpu_device_free(device);
        arena_free(call.arena);
    }
}

static void
numbers_that_are_not_finite_are_found_in_a_filter(void **state)
{
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    float filter[67] = {1, -3.4e38F, 1e-45F};
    assert_true(are_finite(filter, COUNT_OF(filter)));
    for (size_t i = 0; i < COUNT_OF(filter); i++) {
        float before = filter[i];
        filter[i] = odd[i % COUNT_OF(odd)];
        assert_false(are_finite(filter, COUNT_OF(filter)));
        filter[i] = before;
    }
}

static void
the_forecast_is_what_a_run_takes(void **state)
{
    (void)state;
    enum { UNCOUNTED = 64 * 1024 };
    for (size_t form = 0; form < COUNT_OF(FORMS); form++) {
        Device *device = NULL;
        Planes *planes = NULL;
        CpuDeviceOptions options = {.thread_count = 1, .memory_limit = 1 << 30};
        Call call = {.arena = arena_new(1 << 20)};
        Trial trial;
        trial_begin(&trial, &FORMS[form]);
        assert_status(&call, STATUS_OK, cpu_device_new(&call, &options, &device));
        assert_status(&call, STATUS_OK, planes_new(&call, &planes));
        ConvolveOperands operands = trial_operands(&trial);
        assert_status(&call, STATUS_OK, planes_run(&call, planes, device, &trial.shape, &operands));
        DeviceMemory memory = {0};
        device->memory(device, &memory);
        uint64_t told = planes_scratch(planes, device, &trial.shape);
        assert_in_range(memory.peak, told > UNCOUNTED ? told - UNCOUNTED : 0, told + told / 4 + UNCOUNTED);
        planes_free(planes);
        cpu_device_free(device);
        arena_free(call.arena);
        trial_end(&trial);
    }
}

/* Those of some tens of microseconds, as small networks for images have: without padding, where positions are
 * rows, with padding, and of single channels. */
static void
a_short_convolution_is_cut_into_pieces_for_several_threads(void **state)
{
    (void)state;
    static const Form short_forms[] = {
        {1, 1, 24, 88, {28, 28}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
        {1, 1, 120, 48, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
        {1, 1, 96, 576, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2},
        {1, 1, 24, 24, {30, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
        {1, 72, 1, 1, {56, 56}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 2},
    };
    for (size_t i = 0; i < COUNT_OF(short_forms); i++) {
        ConvolveShape shape = shape_of(&short_forms[i]);
        PlanesPlan plan = planes_plan(&shape);
        assert_in_range(divide_up(planes_plan_tiles(&plan), plan.group), 3, 32);
    }
}

static void
a_convolution_of_a_few_microseconds_is_one_piece(void **state)
{
    (void)state;
    static const Form tiny = {1, 1, 8, 8, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2};
    ConvolveShape shape = shape_of(&tiny);
    PlanesPlan plan = planes_plan(&shape);
    assert_int_equal(divide_up(planes_plan_tiles(&plan), plan.group), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_is_one_chain_on_every_instruction_set),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(an_image_alone_has_the_bits_that_it_has_among_others),
        cmocka_unit_test(nan_infinities_and_denormals_are_as_in_the_loop),
        cmocka_unit_test(a_finished_convolution_is_the_convolution_finished),
        cmocka_unit_test(a_constant_filter_serves_images_of_any_size),
        cmocka_unit_test(numbers_that_are_not_finite_are_found_in_a_filter),
        cmocka_unit_test(the_forecast_is_what_a_run_takes),
        cmocka_unit_test(a_short_convolution_is_cut_into_pieces_for_several_threads),
        cmocka_unit_test(a_convolution_of_a_few_microseconds_is_one_piece),
    };
    return cmocka_run_group_tests_name("worker/cpu/convolve", tests, NULL, NULL);
}
