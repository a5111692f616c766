/* Random numbers, in TensorFlow's order. */
#include <math.h>

#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/random_sequence.h"
#include "worker/reference/scratch.h"

enum { GROUP_MAX = 4 };

/* Draws a group of numbers: four of up to 32 bits, two of 64. */
typedef struct Distribution {
    int64_t group;
    bool draws_again; /* the words that a number needs are not fixed: groups lie far apart */
    void (*draw)(Philox *philox, double ret_values[GROUP_MAX]);
} Distribution;

static void
draw_uniform_half(Philox *philox, double ret_values[GROUP_MAX])
{
    uint32_t words[PHILOX_WORDS];
    philox_next(philox, words);
    for (int n = 0; n < PHILOX_WORDS; n++) {
        ret_values[n] = (double)(half_to_float((uint16_t)(15 << 10 | (words[n] & 0x3ff))) - 1);
    }
}

static void
draw_uniform_bfloat(Philox *philox, double ret_values[GROUP_MAX])
{
    uint32_t words[PHILOX_WORDS];
    philox_next(philox, words);
    for (int n = 0; n < PHILOX_WORDS; n++) {
        ret_values[n] = (double)(bfloat16_to_float((uint16_t)(127 << 7 | (words[n] & 0x7f))) - 1);
    }
}

static void
draw_uniform_float(Philox *philox, double ret_values[GROUP_MAX])
{
    uint32_t words[PHILOX_WORDS];
    philox_next(philox, words);
    for (int n = 0; n < PHILOX_WORDS; n++) {
        ret_values[n] = (double)philox_to_float(words[n]);
    }
}

static void
draw_uniform_double(Philox *philox, double ret_values[GROUP_MAX])
{
    uint32_t words[PHILOX_WORDS];
    philox_next(philox, words);
    ret_values[0] = philox_to_double(words[0], words[1]);
    ret_values[1] = philox_to_double(words[2], words[3]);
}

static void
draw_normal_float(Philox *philox, double ret_values[GROUP_MAX])
{
    uint32_t words[PHILOX_WORDS];
    float normals[2];
    philox_next(philox, words);
    for (int n = 0; n < PHILOX_WORDS; n += 2) {
        philox_to_normals(&words[n], normals);
        ret_values[n] = (double)normals[0];
        ret_values[n + 1] = (double)normals[1];
    }
}

static void
draw_normal_double(Philox *philox, double ret_values[GROUP_MAX])
{
    uint32_t words[PHILOX_WORDS];
    philox_next(philox, words);
    philox_to_double_normals(words, ret_values);
}

/* Draws numbers within two standard deviations until the group is full. */
static void
draw_truncated_float(Philox *philox, double ret_values[GROUP_MAX])
{
    PhiloxStream stream = philox_stream(*philox);
    for (int count = 0; count < GROUP_MAX;) {
        uint32_t first = philox_stream_next(&stream);
        const uint32_t words[2] = {first, philox_stream_next(&stream)};
        float normals[2];
        philox_to_normals(words, normals);
        for (int n = 0; n < 2 && count < GROUP_MAX; n++) {
            ret_values[count] = (double)normals[n];
            count += fabsf(normals[n]) < 2 ? 1 : 0;
        }
    }
}

static void
draw_truncated_double(Philox *philox, double ret_values[GROUP_MAX])
{
    Philox next = *philox;
    for (int count = 0; count < 2;) {
        uint32_t words[PHILOX_WORDS];
        double normals[2];
        philox_next(&next, words);
        philox_to_double_normals(words, normals);
        for (int n = 0; n < 2 && count < 2; n++) {
            ret_values[count] = normals[n];
            count += fabs(normals[n]) < 2 ? 1 : 0;
        }
    }
}

#define NARROW(function, again)                                                                              \
    {                                                                                                        \
        .group = 4, .draws_again = (again), .draw = (function)                                               \
    }
#define NORMAL(again, single, twice)                                                                         \
    {                                                                                                        \
        [DTYPE_FLOAT16] = NARROW(single, again), [DTYPE_BFLOAT16] = NARROW(single, again),                   \
        [DTYPE_FLOAT32] = NARROW(single, again), [DTYPE_FLOAT64] = {                                         \
            2,                                                                                               \
            again,                                                                                           \
            twice                                                                                            \
        }                                                                                                    \
    }
#define UNIFORM                                                                                              \
    {                                                                                                        \
        [DTYPE_FLOAT16] = NARROW(draw_uniform_half, false),                                                  \
        [DTYPE_BFLOAT16] = NARROW(draw_uniform_bfloat, false),                                               \
        [DTYPE_FLOAT32] = NARROW(draw_uniform_float, false), [DTYPE_FLOAT64] = {                             \
            2,                                                                                               \
            false,                                                                                           \
            draw_uniform_double                                                                              \
        }                                                                                                    \
    }

static const Distribution uniform_numbers[DTYPE_COUNT] = UNIFORM;
static const Distribution normal_numbers[DTYPE_COUNT] = NORMAL(false, draw_normal_float, draw_normal_double);
static const Distribution truncated_numbers[DTYPE_COUNT] =
    NORMAL(true, draw_truncated_float, draw_truncated_double);

static Status
fill_output(KernelContext *context, const Distribution *distributions, Philox start, const Shape *shape)
{
    const Distribution *distribution = &distributions[context->node->output_dtypes[0]];
    AUTO_TENSOR values = {0};
    TRY(scratch_new(context, DTYPE_FLOAT64, shape, &values));
    int64_t count = tensor_element_count(&values);
    int64_t apart = distribution->draws_again ? random_counters_apart(distribution->group) : 1;
    for (int64_t n = 0; n < count; n += distribution->group) {
        double group[GROUP_MAX];
        Philox philox = start;
        philox_skip(&philox, (uint64_t)(n / distribution->group * apart));
        distribution->draw(&philox, group);
        int64_t left = count - n < distribution->group ? count - n : distribution->group;
        memcpy((double *)values.data + n, group, (size_t)left * sizeof *group);
    }
    return scratch_finish(context, 0, &values);
}

static Status
draw_next(KernelContext *context, const Distribution *distributions)
{
    Shape shape;
    Philox start;
    int64_t count = 0;
    TRY(output_shapes(context, &shape));
    if (!shape_element_count(&shape, &count)) {
        return STATUS_INTERNAL;
    }
    TRY(random_sequence_reserve_outputs(context, count, &start));
    return fill_output(context, distributions, start, &shape);
}

static Status
draw_stateless(KernelContext *context, const Distribution *distributions)
{
    Shape shape;
    Philox philox;
    TRY(output_shapes(context, &shape));
    TRY(random_stateless(context, &philox));
    return fill_output(context, distributions, philox, &shape);
}

static Status
draw_keyed(KernelContext *context, const Distribution *distributions)
{
    Shape shape;
    Philox philox;
    TRY(output_shapes(context, &shape));
    TRY(random_keyed(context, &philox));
    return fill_output(context, distributions, philox, &shape);
}

/* The functions of the kernels that draw from the distributions <name>_numbers, by dtype. */
#define DRAWS(name)                                                                                          \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return name##_numbers[node->output_dtypes[0]].draw != NULL;                                          \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return draw_next(context, name##_numbers);                                                           \
    }                                                                                                        \
    static Status name##_compute_stateless(KernelContext *context)                                           \
    {                                                                                                        \
        return draw_stateless(context, name##_numbers);                                                      \
    }                                                                                                        \
    static Status name##_compute_keyed(KernelContext *context)                                               \
    {                                                                                                        \
        return draw_keyed(context, name##_numbers);                                                          \
    }

DRAWS(uniform)
DRAWS(normal)
DRAWS(truncated)

static bool
integer_supports(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64;
}

static void
fill_integers(Philox philox, int64_t minimum, uint64_t range, Tensor *output)
{
    int64_t count = tensor_element_count(output);
    bool is_wide = output->dtype == DTYPE_INT64;
    PhiloxStream stream = philox_stream(philox);
    for (int64_t n = 0; n < count; n++) {
        uint64_t low = philox_stream_next(&stream);
        if (is_wide) {
            uint64_t word = low | (uint64_t)philox_stream_next(&stream) << 32;
            ((int64_t *)output->data)[n] = (int64_t)((uint64_t)minimum + word % range);
        } else {
            ((int32_t *)output->data)[n] = (int32_t)(minimum + (int64_t)(low % range));
        }
    }
}

static Status
uniform_int_compute(KernelContext *context)
{
    Tensor *output = NULL;
    int64_t minimum = 0;
    uint64_t range = 0;
    Philox start;
    TRY(output_new(context, &output));
    if (tensor_element_count(output) > 0) {
        TRY(random_range(context, 1, &minimum, &range));
        TRY(random_sequence_reserve_outputs(context, tensor_element_count(output), &start));
        fill_integers(start, minimum, range, output);
    }
    return STATUS_OK;
}

static Status
stateless_int_compute(KernelContext *context)
{
    Tensor *output = NULL;
    Philox philox;
    int64_t minimum = 0;
    uint64_t range = 0;
    TRY(output_new(context, &output));
    TRY(random_stateless(context, &philox));
    TRY(random_range(context, 2, &minimum, &range));
    fill_integers(philox, minimum, range, output);
    return STATUS_OK;
}

static Status
keyed_int_compute(KernelContext *context)
{
    Tensor *output = NULL;
    Philox philox;
    int64_t minimum = 0;
    uint64_t range = 0;
    TRY(output_new(context, &output));
    TRY(random_keyed(context, &philox));
    TRY(random_range(context, 4, &minimum, &range));
    fill_integers(philox, minimum, range, output);
    return STATUS_OK;
}

static uint64_t
joined_words(const uint32_t words[2])
{
    return words[0] | (uint64_t)words[1] << 32;
}

/* The key and the counter at which the stateless ops of the first version begin with these seeds. */
static Status
key_and_counter_compute(KernelContext *context)
{
    int64_t seeds[2] = {0};
    size_t count = 0;
    Shape shapes[2];
    Tensor *key = NULL;
    Tensor *counter = NULL;
    TRY(output_rule(context, shapes));
    TRY(kernel_input_ints(context, 0, seeds, 2, &count));
    TRY(kernel_output(context, 0, DTYPE_UINT64, &shapes[0], &key));
    TRY(kernel_output(context, 1, DTYPE_UINT64, &shapes[1], &counter));
    Philox philox = philox_scrambled((uint64_t)seeds[0], (uint64_t)seeds[1]);
    *(uint64_t *)key->data = joined_words(philox.key);
    ((uint64_t *)counter->data)[0] = joined_words(philox.counter);
    ((uint64_t *)counter->data)[1] = joined_words(philox.counter + 2);
    return STATUS_OK;
}

static bool
shuffle_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

/* Shuffles from the front (Fisher and Yates): position n gets one of the numbers not yet placed. It draws
 * count - 1 words. */
static void
shuffle_order(Philox philox, int64_t *order, int64_t count)
{
    PhiloxStream stream = philox_stream(philox);
    for (int64_t n = 0; n < count; n++) {
        order[n] = n;
    }
    for (int64_t n = 0; n + 1 < count; n++) {
        int64_t other = n + philox_stream_next(&stream) % (uint32_t)(count - n);
        int64_t chosen = order[other];
        order[other] = order[n];
        order[n] = chosen;
    }
}

static Status
shuffle_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int64_t count = tensor_element_count(input);
    if (count <= 1 || input->shape.dims[0] <= 1) {
        kernel_alias(context, 0, 0, &input->shape);
        return STATUS_OK;
    }
    Tensor *output = NULL;
    AUTO_TENSOR order = {0};
    Philox start;
    Shape vector = shape_vector(input->shape.dims[0]);
    TRY(output_new(context, &output));
    TRY(scratch_new(context, DTYPE_INT64, &vector, &order));
    uint64_t words = (uint64_t)vector.dims[0] - 1;
    TRY(random_sequence_reserve(context, (words + PHILOX_WORDS - 1) / PHILOX_WORDS, &start));
    shuffle_order(start, order.data, vector.dims[0]);
    size_t size = (size_t)(count / vector.dims[0]) * dtype_size(input->dtype);
    for (int64_t n = 0; n < vector.dims[0]; n++) {
        memcpy((char *)output->data + (size_t)n * size,
            (const char *)input->data + (size_t)((const int64_t *)order.data)[n] * size, size);
    }
    return STATUS_OK;
}

static bool
multinomial_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && integer_supports(node);
}

/* Turns the logits of one example into running sums of e^logit; those not finite add nothing. Returns the
 * total. */
static double
accumulate_classes(double *logits, int64_t classes)
{
    double largest = -(double)INFINITY;
    double sum = 0;
    for (int64_t k = 0; k < classes; k++) {
        largest = isfinite(logits[k]) && logits[k] > largest ? logits[k] : largest;
    }
    for (int64_t k = 0; k < classes; k++) {
        sum += isfinite(logits[k]) ? exp(logits[k] - largest) : 0;
        logits[k] = sum;
    }
    return sum;
}

/* Returns the first class whose running sum is above `wanted`. */
static int64_t
choose_class(const double *sums, int64_t classes, double wanted)
{
    int64_t chosen = 0;
    while (chosen < classes && sums[chosen] <= wanted) {
        chosen++;
    }
    return chosen;
}

static Status
multinomial_compute(KernelContext *context)
{
    Tensor *output = NULL;
    AUTO_TENSOR logits = {0};
    TRY(output_new(context, &output));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &logits));
    int64_t samples = output->shape.dims[1];
    int64_t classes = logits.shape.dims[1];
    if (classes == 0 && tensor_element_count(output) > 0) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "there must be at least one class");
    }
    int64_t words = random_words_of_classes(samples, output->shape.dims[0]);
    Philox start;
    TRY(random_sequence_reserve_outputs(context, words, &start));
    PhiloxStream stream = philox_stream(start);
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        double *sums = (double *)logits.data + n / samples * classes;
        double total = n % samples == 0 ? accumulate_classes(sums, classes) : sums[classes - 1];
        uint32_t low = philox_stream_next(&stream);
        double wanted = philox_to_double(low, philox_stream_next(&stream)) * total;
        int64_t chosen = choose_class(sums, classes, wanted);
        if (output->dtype == DTYPE_INT64) {
            ((int64_t *)output->data)[n] = chosen;
        } else {
            ((int32_t *)output->data)[n] = (int32_t)chosen;
        }
    }
    return STATUS_OK;
}

#define SEQUENCE .create = random_sequence_create, .destroy = random_sequence_destroy
#define RANDOM(name, distribution)                                                                           \
    {                                                                                                        \
        .op = (name), .supports = distribution##_supports, .compute = distribution##_compute,                \
        .wide_outputs = 1, .host_inputs = 1, SEQUENCE                                                        \
    }
#define STATELESS(name, distribution)                                                                        \
    {                                                                                                        \
        .op = (name), .supports = distribution##_supports, .compute = distribution##_compute_stateless,      \
        .wide_outputs = 1, .host_inputs = 3                                                                  \
    }
#define KEYED(name, distribution)                                                                            \
    {                                                                                                        \
        .op = (name), .supports = distribution##_supports, .compute = distribution##_compute_keyed,          \
        .wide_outputs = 1, .host_inputs = 15                                                                 \
    }
static const Kernel random_kernels[] = {
    RANDOM("RandomUniform", uniform),
    RANDOM("RandomStandardNormal", normal),
    RANDOM("TruncatedNormal", truncated),
    STATELESS("StatelessRandomUniform", uniform),
    STATELESS("StatelessRandomNormal", normal),
    STATELESS("StatelessTruncatedNormal", truncated),
    {.op = "RandomUniformInt",
        .supports = integer_supports,
        .compute = uniform_int_compute,
        .host_inputs = 7,
        SEQUENCE},
    {.op = "StatelessRandomUniformInt",
        .supports = integer_supports,
        .compute = stateless_int_compute,
        .host_inputs = 15},
    {.op = "StatelessRandomGetKeyCounter", .compute = key_and_counter_compute, .host_inputs = 1},
    KEYED("StatelessRandomUniformV2", uniform),
    KEYED("StatelessRandomNormalV2", normal),
    KEYED("StatelessTruncatedNormalV2", truncated),
    {.op = "StatelessRandomUniformIntV2",
        .supports = integer_supports,
        .compute = keyed_int_compute,
        .host_inputs = 63},
    {.op = "RandomShuffle", .supports = shuffle_supports, .compute = shuffle_compute, SEQUENCE},
    {.op = "Multinomial",
        .supports = multinomial_supports,
        .compute = multinomial_compute,
        .wide_inputs = 1,
        .host_inputs = 1 << 1,
        SEQUENCE},
};

KERNEL_FAMILY(reference, random, random_kernels);
