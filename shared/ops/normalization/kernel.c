/* Normalisation: (x - mean) / √(variance + ε) × scale + bias, with statistics given or computed, all in
 * double. */
#include <math.h>

#include "shared/ops/layout.h"
#include "worker/reference/doubles.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef struct Moments {
    double mean;
    double variance; /* biased: the sum of squares divided by the count */
} Moments;

static bool
supports_floats(const Node *node)
{
    return doubles_hold_inputs(node);
}

/* Sums over the lines of one channel, in all outer and inner positions. */
static Moments
moments_of(const double *values, const Lines *lines, int64_t channel)
{
    double count = (double)(lines->outer * lines->inner);
    double sum = 0;
    int64_t outers = lines->inner == 0 ? 0 : lines->outer; /* may be of any size when there are no elements */
    for (int64_t outer = 0; outer < outers; outer++) {
        for (int64_t inner = 0; inner < lines->inner; inner++) {
            sum += values[(outer * lines->size + channel) * lines->inner + inner];
        }
    }
    double mean = sum / count;
    double squares = 0;
    for (int64_t outer = 0; outer < outers; outer++) {
        for (int64_t inner = 0; inner < lines->inner; inner++) {
            double distance = values[(outer * lines->size + channel) * lines->inner + inner] - mean;
            squares += distance * distance;
        }
    }
    Moments moments = {.mean = mean, .variance = squares / count};
    return moments;
}

static void
normalize_channel(
    double *values, const Lines *lines, int64_t channel, Moments moments, double scale, double bias)
{
    double factor = scale / sqrt(moments.variance);
    int64_t outers = lines->inner == 0 ? 0 : lines->outer;
    for (int64_t outer = 0; outer < outers; outer++) {
        double *line = &values[(outer * lines->size + channel) * lines->inner];
        for (int64_t inner = 0; inner < lines->inner; inner++) {
            line[inner] = (line[inner] - moments.mean) * factor + bias;
        }
    }
}

/* Inputs 0 to 4 in double: x, scale, offset, mean, variance. */
enum { NORM_INPUTS = 5 };

static void
release_tensors(Tensor *tensors, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        tensor_unref(&tensors[index]);
    }
}

static Status
widen_inputs(KernelContext *context, Tensor *ret_tensors, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        TRY(scratch_cast(context, &context->inputs[index], DTYPE_FLOAT64, &ret_tensors[index]));
    }
    return STATUS_OK;
}

static double
double_at(const Tensor *doubles, int64_t index)
{
    return ((const double *)doubles->data)[index];
}

/* The other outputs are the running mean and variance, and those of this batch. */
static void
store_moments(Tensor *statistics, int64_t channel, Moments running, Moments batch)
{
    ((double *)statistics[0].data)[channel] = running.mean;
    ((double *)statistics[1].data)[channel] = running.variance;
    ((double *)statistics[2].data)[channel] = batch.mean;
    ((double *)statistics[3].data)[channel] = batch.variance;
}

static double
average_factor(const Node *node)
{
    const AttrValue *factor = node_attr(node, "exponential_avg_factor");
    return factor == NULL ? 1 : (double)factor->value.f;
}

/* Returns the moving average of the given statistics and those of a batch of `count` elements, whose variance
 * counts unbiased. */
static Moments
average_moments(const Tensor *inputs, int64_t channel, Moments batch, double count, double factor)
{
    double unbiased = count > 1 ? count / (count - 1) : 1;
    Moments running = {batch.mean, batch.variance * unbiased};
    if (factor != 1) {
        running.mean = (1 - factor) * double_at(&inputs[3], channel) + factor * running.mean;
        running.variance = (1 - factor) * double_at(&inputs[4], channel) + factor * running.variance;
    }
    return running;
}

enum { STATISTICS = 4 };

static Status
finish_fused(KernelContext *context, const Tensor *y, const Tensor *statistics)
{
    TRY(scratch_finish(context, 0, y));
    for (uint32_t index = 0; index < STATISTICS; index++) {
        TRY(scratch_finish(context, index + 1, &statistics[index]));
    }
    if (context->output_count > STATISTICS + 1) {
        Shape scalar = shape_scalar();
        Tensor *reserve = NULL;
        TRY(kernel_output(
            context, STATISTICS + 1, context->node->output_dtypes[STATISTICS + 1], &scalar, &reserve));
        fill_zero(reserve);
    }
    return STATUS_OK;
}

static Status
run_fused(KernelContext *context, Tensor *inputs, Tensor *statistics)
{
    const Node *node = context->node;
    bool is_training = node_attr_bool(node, "is_training");
    double epsilon = (double)node_attr_float(node, "epsilon");
    TRY(widen_inputs(context, inputs, NORM_INPUTS));
    Lines lines = lines_along(&inputs[0].shape, layout_channel(node, inputs[0].shape.rank));
    Shape vector = shape_vector(lines.size);
    for (size_t index = 0; index < STATISTICS; index++) {
        TRY(scratch_new(context, DTYPE_FLOAT64, &vector, &statistics[index]));
    }
    double count = (double)(lines.outer * lines.inner);
    for (int64_t channel = 0; channel < lines.size; channel++) {
        Moments moments;
        Moments running;
        if (is_training) {
            moments = moments_of(inputs[0].data, &lines, channel);
            running = average_moments(inputs, channel, moments, count, average_factor(node));
        } else {
            moments = (Moments){double_at(&inputs[3], channel), double_at(&inputs[4], channel)};
            running = moments;
        }
        store_moments(statistics, channel, running, moments);
        moments.variance += epsilon;
        normalize_channel(inputs[0].data, &lines, channel, moments, double_at(&inputs[1], channel),
            double_at(&inputs[2], channel));
    }
    return finish_fused(context, &inputs[0], statistics);
}

static Status
fused_batch_norm_compute(KernelContext *context)
{
    Shape shapes[6];
    TRY(output_shapes(context, shapes));
    Tensor inputs[NORM_INPUTS] = {0};
    Tensor statistics[STATISTICS] = {0};
    Status status = run_fused(context, inputs, statistics);
    release_tensors(inputs, NORM_INPUTS);
    release_tensors(statistics, STATISTICS);
    return status;
}

static bool
batch_normalization_supports(const Node *node)
{
    return doubles_hold_inputs(node) && node_attr_int(node, "training_mode") == 0;
}

static Status
run_batch_normalization(KernelContext *context, Tensor *inputs)
{
    double epsilon = (double)node_attr_float(context->node, "epsilon");
    TRY(widen_inputs(context, inputs, NORM_INPUTS));
    int channels = layout_onnx_channel(context->node, inputs[0].shape.rank);
    Lines lines = lines_along(&inputs[0].shape, channels);
    for (int64_t channel = 0; channel < lines.size; channel++) {
        Moments moments = {double_at(&inputs[3], channel), double_at(&inputs[4], channel) + epsilon};
        normalize_channel(inputs[0].data, &lines, channel, moments, double_at(&inputs[1], channel),
            double_at(&inputs[2], channel));
    }
    TRY(scratch_finish(context, 0, &inputs[0]));
    for (uint32_t index = 1; index < context->output_count; index++) {
        TRY(scratch_finish(context, index, &inputs[index + 2]));
    }
    return STATUS_OK;
}

static Status
batch_normalization_compute(KernelContext *context)
{
    Shape shapes[3];
    TRY(output_shapes(context, shapes));
    Tensor inputs[NORM_INPUTS] = {0};
    Status status = run_batch_normalization(context, inputs);
    release_tensors(inputs, NORM_INPUTS);
    return status;
}

/* Every channel of every batch has statistics of its own. */
static Status
run_instance_normalization(KernelContext *context, Tensor *inputs)
{
    double epsilon = (double)node_attr_float(context->node, "epsilon");
    TRY(widen_inputs(context, inputs, 3));
    if (tensor_element_count(&inputs[0]) == 0) {
        return scratch_finish(context, 0, &inputs[0]); /* the other dimensions may be of any size */
    }
    Lines all = lines_along(&inputs[0].shape, 1);
    Lines one = {.outer = 1, .size = all.size, .inner = all.inner};
    for (int64_t batch = 0; batch < all.outer; batch++) {
        double *values = (double *)inputs[0].data + batch * all.size * all.inner;
        for (int64_t channel = 0; channel < all.size; channel++) {
            Moments moments = moments_of(values, &one, channel);
            moments.variance += epsilon;
            normalize_channel(values, &one, channel, moments, double_at(&inputs[1], channel),
                double_at(&inputs[2], channel));
        }
    }
    return scratch_finish(context, 0, &inputs[0]);
}

static Status
instance_normalization_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    Tensor inputs[3] = {0};
    Status status = run_instance_normalization(context, inputs);
    release_tensors(inputs, COUNT_OF(inputs));
    return status;
}

static bool
bias_grad_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
bias_add_grad_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    AUTO_TENSOR values = {0};
    AUTO_TENSOR sums = {0};
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &values));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &sums));
    fill_zero(&sums);
    if (tensor_element_count(&values) == 0) {
        return scratch_finish(context, 0, &sums); /* the other dimensions may be of any size */
    }
    Lines lines = lines_along(&values.shape, layout_channel(context->node, values.shape.rank));
    for (int64_t outer = 0; outer < lines.outer; outer++) {
        for (int64_t channel = 0; channel < lines.size; channel++) {
            const double *line = (const double *)values.data + (outer * lines.size + channel) * lines.inner;
            for (int64_t inner = 0; inner < lines.inner; inner++) {
                ((double *)sums.data)[channel] += line[inner];
            }
        }
    }
    return scratch_finish(context, 0, &sums);
}

static const Kernel normalization_kernels[] = {
    {.op = "FusedBatchNorm",
        .supports = supports_floats,
        .compute = fused_batch_norm_compute,
        .wide_inputs = 31,
        .wide_outputs = 30},
    {.op = "FusedBatchNormV2",
        .supports = supports_floats,
        .compute = fused_batch_norm_compute,
        .wide_inputs = 31,
        .wide_outputs = 30},
    {.op = "FusedBatchNormV3",
        .supports = supports_floats,
        .compute = fused_batch_norm_compute,
        .wide_inputs = 31,
        .wide_outputs = 30},
    {.op = "BiasAddGrad",
        .supports = bias_grad_supports,
        .compute = bias_add_grad_compute,
        .wide_inputs = 1,
        .wide_outputs = 1},
    {.op = "onnx::BatchNormalization",
        .supports = batch_normalization_supports,
        .compute = batch_normalization_compute,
        .wide_inputs = 31},
    {.op = "onnx::InstanceNormalization",
        .supports = supports_floats,
        .compute = instance_normalization_compute,
        .wide_inputs = 7},
};

KERNEL_FAMILY(reference, normalization, normalization_kernels);
