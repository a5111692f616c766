/* ONNX's convolutions of integers, one output position at a time: the numbers without their zero points are
 * multiplied and added up in 32 bits, which wrap. */
#include "shared/ops/convolution.h"
#include "worker/reference/outputs.h"
#include "worker/reference/requantize.h"
#include "worker/reference/scaling.h"
#include "worker/reference/sliding.h"

typedef struct IntegerConvolve {
    const Convolution *convolution;
    Sliding sliding;
    FilterSteps steps;
    const int32_t *input;
    const int32_t *filter;
    int32_t *output;
} IntegerConvolve;

static bool
is_byte(Dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8;
}

/* Converts an input to int32 and subtracts its zero point: one for all, or one for each channel of the first
 * dimension. */
static Status
without_zero_point(KernelContext *context, uint32_t input, uint32_t zero_point, Tensor *ret_integers)
{
    Lines lines;
    const Tensor *zero = &context->inputs[zero_point];
    bool is_there = zero_point < context->input_count && zero->dtype != DTYPE_INVALID;
    TRY(scratch_cast(context, &context->inputs[input], DTYPE_INT32, ret_integers));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(scaling_zero_lines(context, input, zero_point, ret_integers->shape.rank, &lines));
    int32_t *numbers = ret_integers->data;
    for (int64_t n = 0; n < tensor_element_count(ret_integers); n++) {
        int64_t number = 0;
        (void)!tensor_to_int64(zero, n / lines.inner % lines.size, &number);
        numbers[n] -= (int32_t)number;
    }
    return STATUS_OK;
}

static int32_t
sum_of(const IntegerConvolve *convolve, int64_t batch, int64_t channel, const Walk *position, Walk *element)
{
    const Convolution *convolution = convolve->convolution;
    const Sliding *sliding = &convolve->sliding;
    int64_t group = channel / convolution->outputs;
    uint32_t sum = 0;
    do {
        int64_t offset = sliding_offset(sliding, position, element);
        if (offset < 0) {
            continue;
        }
        const int32_t *x = convolve->input + offset + batch * sliding->input.batch +
                           group * convolution->inputs * sliding->input.channel;
        const int32_t *w = convolve->filter + element->offset + group * convolve->steps.group +
                           channel % convolution->outputs * convolve->steps.output;
        for (int64_t k = 0; k < convolution->inputs; k++) {
            sum += (uint32_t)x[k * sliding->input.channel] * (uint32_t)w[k * convolve->steps.input];
        }
    } while (walk_next(element));
    return (int32_t)sum;
}

static void
convolve_integers(const IntegerConvolve *convolve)
{
    const Sliding *sliding = &convolve->sliding;
    Walk position = sliding_outputs(sliding);
    Walk element = sliding_window(sliding, convolve->steps.space);
    for (int64_t batch = 0; batch < sliding->batch; batch++) {
        for (int64_t channel = 0; channel < sliding->channels; channel++) {
            int32_t *to =
                convolve->output + batch * sliding->output.batch + channel * sliding->output.channel;
            do {
                to[position.offset] = sum_of(convolve, batch, channel, &position, &element);
            } while (walk_next(&position));
        }
    }
}

/* Computes the sums into a tensor of the output's shape, which has elements. `zero_points` are the inputs
 * that hold those of the image and of the filter. */
static Status
sum_all(KernelContext *context, const Convolution *convolution, uint32_t filter, const uint32_t *zero_points,
    Tensor *sums)
{
    AUTO_TENSOR x = {0};
    AUTO_TENSOR w = {0};
    TRY(without_zero_point(context, 0, zero_points[0], &x));
    TRY(without_zero_point(context, filter, zero_points[1], &w));
    IntegerConvolve convolve = {.convolution = convolution,
        .sliding = sliding_over(&convolution->window, &x.shape, &sums->shape),
        .steps = filter_steps(convolution, &w.shape),
        .input = x.data,
        .filter = w.data,
        .output = sums->data};
    convolve_integers(&convolve);
    return STATUS_OK;
}

static Status
conv_integer_compute(KernelContext *context)
{
    static const uint32_t zero_points[] = {2, 3};
    KernelInference inference;
    Convolution convolution;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_integer(context->call, &inference.context, &convolution));
    TRY(kernel_output(context, 0, DTYPE_INT32, &convolution.output, &output));
    return tensor_element_count(output) == 0 ? STATUS_OK
                                             : sum_all(context, &convolution, 1, zero_points, output);
}

static bool
conv_integer_supports(const Node *node)
{
    return is_byte(node->input_dtypes[0]) && is_byte(node->input_dtypes[1]);
}

/* Adds the bias and writes the numbers of one channel of one image. */
static void
finish_channel(const KernelContext *context, const Requantizer *to, const float *scales, int64_t line,
    int64_t channels, Tensor *sums)
{
    const Tensor *bias = context->input_count > 8 ? &context->inputs[8] : NULL;
    int64_t inner = tensor_element_count(sums) / (sums->shape.dims[0] * channels);
    int32_t *values = (int32_t *)sums->data + line * inner;
    int64_t channel = line % channels;
    bool has_bias = bias != NULL && bias->dtype != DTYPE_INVALID;
    uint32_t addend = has_bias ? ((const uint32_t *)bias->data)[channel] : 0;
    for (int64_t n = 0; n < inner; n++) {
        values[n] = (int32_t)((uint32_t)values[n] + addend);
    }
    char *output = (char *)context->outputs[0].data + (size_t)(line * inner) * dtype_size(to->dtype);
    requantize(to, values, inner, scales[channel], output);
}

static Status
qlinear_conv_compute(KernelContext *context)
{
    static const uint32_t zero_points[] = {2, 5};
    KernelInference inference;
    Convolution convolution;
    Tensor *output = NULL;
    Requantizer to;
    AUTO_TENSOR scales = {0};
    AUTO_TENSOR sums = {0};
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_integer(context->call, &inference.context, &convolution));
    int64_t channels = convolution.output.dims[1];
    TRY(scaling_product(context, channels, &scales, &to));
    TRY(kernel_output(context, 0, to.dtype, &convolution.output, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, DTYPE_INT32, &convolution.output, &sums));
    TRY(sum_all(context, &convolution, 3, zero_points, &sums));
    for (int64_t line = 0; line < sums.shape.dims[0] * channels; line++) {
        finish_channel(context, &to, scales.data, line, channels, &sums);
    }
    return STATUS_OK;
}

static bool
qlinear_conv_supports(const Node *node)
{
    return is_byte(node->input_dtypes[0]) && is_byte(node->input_dtypes[3]) &&
           is_byte(node->output_dtypes[0]);
}

static const Kernel integer_kernels[] = {
    {.op = "onnx::ConvInteger", .supports = conv_integer_supports, .compute = conv_integer_compute},
    {.op = "onnx::QLinearConv", .supports = qlinear_conv_supports, .compute = qlinear_conv_compute},
};

KERNEL_FAMILY(reference, convolution_integer, integer_kernels);
