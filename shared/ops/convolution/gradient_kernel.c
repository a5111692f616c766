/* The gradients of a convolution for its image and for its filter. Sums are kept in double and run over
 * batches, output positions and filter positions in row-major order. */
#include "shared/ops/convolution.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/sliding.h"

typedef struct Gradient {
    const Convolution *convolution;
    Sliding sliding;
    FilterSteps steps;
    double *image;
    double *filter;
    double *output;
} Gradient;

/* The first channel of one group in the image, the filter and the output, at positions that meet. */
typedef struct Meeting {
    double *image;
    double *filter;
    double *output;
} Meeting;

typedef void (*MeetingVisit)(const Gradient *gradient, Meeting meeting);

static void
add_to_image(const Gradient *gradient, Meeting meeting)
{
    for (int64_t k = 0; k < gradient->convolution->inputs; k++) {
        const double *weights = meeting.filter + k * gradient->steps.input;
        double sum = 0;
        for (int64_t n = 0; n < gradient->convolution->outputs; n++) {
            sum += weights[n * gradient->steps.output] * meeting.output[n * gradient->sliding.output.channel];
        }
        meeting.image[k * gradient->sliding.input.channel] += sum;
    }
}

static void
add_to_filter(const Gradient *gradient, Meeting meeting)
{
    for (int64_t k = 0; k < gradient->convolution->inputs; k++) {
        double pixel = meeting.image[k * gradient->sliding.input.channel];
        double *weights = meeting.filter + k * gradient->steps.input;
        for (int64_t n = 0; n < gradient->convolution->outputs; n++) {
            weights[n * gradient->steps.output] +=
                pixel * meeting.output[n * gradient->sliding.output.channel];
        }
    }
}

static void
visit_element(const Gradient *gradient, Meeting meeting, MeetingVisit visit)
{
    const Convolution *convolution = gradient->convolution;
    for (int64_t group = 0; group < convolution->groups; group++) {
        visit(gradient, meeting);
        meeting.image += convolution->inputs * gradient->sliding.input.channel;
        meeting.filter += gradient->steps.group;
        meeting.output += convolution->outputs * gradient->sliding.output.channel;
    }
}

static void
visit_all(const Gradient *gradient, MeetingVisit visit)
{
    const Sliding *sliding = &gradient->sliding;
    Walk output = sliding_outputs(sliding);
    Walk element = sliding_window(sliding, gradient->steps.space);
    for (int64_t batch = 0; batch < sliding->batch; batch++) {
        do {
            do {
                int64_t offset = sliding_offset(sliding, &output, &element);
                Meeting meeting = {gradient->image + batch * sliding->input.batch + offset,
                    gradient->filter + element.offset,
                    gradient->output + batch * sliding->output.batch + output.offset};
                if (offset >= 0) {
                    visit_element(gradient, meeting, visit);
                }
            } while (walk_next(&element));
        } while (walk_next(&output));
    }
}

/* Nothing is added when one of the three is empty. */
static void
visit_meetings(
    Gradient *gradient, const Tensor *image, const Tensor *filter, const Tensor *output, MeetingVisit visit)
{
    if (tensor_element_count(image) == 0 || tensor_element_count(filter) == 0 ||
        tensor_element_count(output) == 0) {
        return;
    }
    gradient->sliding = sliding_over(&gradient->convolution->window, &image->shape, &output->shape);
    gradient->steps = filter_steps(gradient->convolution, &filter->shape);
    gradient->image = image->data;
    gradient->filter = filter->data;
    gradient->output = output->data;
    visit_all(gradient, visit);
}

/* Adds a number to each channel, which is the second dimension. */
static void
add_channels(const double *bias, Tensor *image)
{
    Lines lines = lines_along(&image->shape, 1);
    for (int64_t line = 0; line < lines.outer * lines.size; line++) {
        double *values = (double *)image->data + line * lines.inner;
        for (int64_t inner = 0; inner < lines.inner; inner++) {
            values[inner] += bias[line % lines.size];
        }
    }
}

static int
spatial_rank(const Node *node)
{
    return slice_starts_with(node->op->name, SLICE("Conv3D")) ? 3 : 2;
}

static bool
supports_float_gradient(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[2]);
}

static Status
backprop_input_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    KernelInference inference;
    Convolution convolution;
    Shape image;
    TRY(doubles_begin(context, &doubles));
    kernel_inference(context, NULL, &inference);
    TRY(convolution_backprop_input(
        context->call, &inference.context, spatial_rank(context->node), &convolution, &image));
    Gradient gradient = {.convolution = &convolution};
    visit_meetings(&gradient, &doubles.outputs[0], &doubles.inputs[1], &doubles.inputs[2], add_to_image);
    return doubles_finish(context, &doubles);
}

static Status
backprop_filter_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    KernelInference inference;
    Convolution convolution;
    Shape filter;
    TRY(doubles_begin(context, &doubles));
    kernel_inference(context, NULL, &inference);
    TRY(convolution_backprop_filter(
        context->call, &inference.context, spatial_rank(context->node), &convolution, &filter));
    Gradient gradient = {.convolution = &convolution};
    visit_meetings(&gradient, &doubles.inputs[0], &doubles.outputs[0], &doubles.inputs[2], add_to_filter);
    return doubles_finish(context, &doubles);
}

/* A transposed convolution is the gradient of a convolution for its image, with a bias. */
static Status
conv_transpose_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    KernelInference inference;
    Convolution convolution;
    TRY(doubles_begin(context, &doubles));
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_transposed(context->call, &inference.context, &convolution));
    Gradient gradient = {.convolution = &convolution};
    visit_meetings(&gradient, &doubles.outputs[0], &doubles.inputs[1], &doubles.inputs[0], add_to_image);
    if (doubles.inputs[2].dtype != DTYPE_INVALID) {
        add_channels(doubles_in(&doubles, 2), &doubles.outputs[0]);
    }
    return doubles_finish(context, &doubles);
}

static bool
conv_transpose_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

#define TO_IMAGE(name)                                                                                       \
    {                                                                                                        \
        .op = (name), .supports = supports_float_gradient, .compute = backprop_input_compute,                \
        DOUBLES_SCRATCH, .host_inputs = 1                                                                    \
    }
#define TO_FILTER(name)                                                                                      \
    {                                                                                                        \
        .op = (name), .supports = supports_float_gradient, .compute = backprop_filter_compute,               \
        DOUBLES_SCRATCH, .host_inputs = 1 << 1                                                               \
    }

static const Kernel convolution_gradient_kernels[] = {
    TO_IMAGE("Conv2DBackpropInput"),
    TO_IMAGE("DepthwiseConv2dNativeBackpropInput"),
    TO_IMAGE("Conv3DBackpropInputV2"),
    TO_FILTER("Conv2DBackpropFilter"),
    TO_FILTER("DepthwiseConv2dNativeBackpropFilter"),
    TO_FILTER("Conv3DBackpropFilterV2"),
    {.op = "onnx::ConvTranspose",
        .supports = conv_transpose_supports,
        .compute = conv_transpose_compute,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, convolution_gradient, convolution_gradient_kernels);
