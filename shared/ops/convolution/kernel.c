/* Convolutions, one output position at a time. Each result is the bias and then the sum over the filter's
 * positions in row-major order and within them over the input channels, kept in double. */
#include "shared/ops/convolution.h"
#include "worker/reference/elements.h"
#include "worker/reference/epilogue.h"
#include "worker/reference/outputs.h"
#include "worker/reference/sliding.h"

enum { BLOCK_CHANNELS = 64 };

typedef struct Convolve {
    const Convolution *convolution;
    Sliding sliding;
    const void *input;
    const void *filter;
    const void *bias; /* NULL: there is none */
    void *output;
    FilterSteps steps;
} Convolve;

typedef void (*ConvolveLoop)(const Convolve *convolve);

/* A position in the output, and one in the filter. */
typedef struct Position {
    Walk output;
    Walk filter;
} Position;

#define CONVOLVE_LOOP(name, unused, upper, lower, storage, compute, read, write)                             \
    static void name##_block_##lower(const Convolve *convolve, Position *position, int64_t batch,            \
        int64_t group, int64_t first, int64_t width)                                                         \
    {                                                                                                        \
        const Convolution *convolution = convolve->convolution;                                              \
        const Sliding *sliding = &convolve->sliding;                                                         \
        const storage *bias = convolve->bias;                                                                \
        int64_t channel = group * convolution->outputs + first;                                              \
        double sums[BLOCK_CHANNELS] = {0};                                                                   \
        for (int64_t n = 0; bias != NULL && n < width; n++) {                                                \
            sums[n] = (double)read(bias[channel + n]);                                                       \
        }                                                                                                    \
        do {                                                                                                 \
            int64_t offset = sliding_offset(sliding, &position->output, &position->filter);                  \
            if (offset < 0) {                                                                                \
                continue;                                                                                    \
            }                                                                                                \
            const storage *x = (const storage *)convolve->input + offset + batch * sliding->input.batch +    \
                               group * convolution->inputs * sliding->input.channel;                         \
            const storage *w = (const storage *)convolve->filter + position->filter.offset +                 \
                               group * convolve->steps.group + first * convolve->steps.output;               \
            for (int64_t k = 0; k < convolution->inputs; k++) {                                              \
                double a = (double)read(x[k * sliding->input.channel]);                                      \
                for (int64_t n = 0; n < width; n++) {                                                        \
                    sums[n] += a * (double)read(w[k * convolve->steps.input + n * convolve->steps.output]);  \
                }                                                                                            \
            }                                                                                                \
        } while (walk_next(&position->filter));                                                              \
        storage *z = (storage *)convolve->output + position->output.offset + batch * sliding->output.batch + \
                     channel * sliding->output.channel;                                                      \
        for (int64_t n = 0; n < width; n++) {                                                                \
            z[n * sliding->output.channel] = write((compute)sums[n]);                                        \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_##lower(const Convolve *convolve)                                                     \
    {                                                                                                        \
        const Convolution *convolution = convolve->convolution;                                              \
        Position position = {                                                                                \
            sliding_outputs(&convolve->sliding), sliding_window(&convolve->sliding, convolve->steps.space)}; \
        for (int64_t batch = 0; batch < convolve->sliding.batch; batch++) {                                  \
            do {                                                                                             \
                for (int64_t group = 0; group < convolution->groups; group++) {                              \
                    for (int64_t n = 0; n < convolution->outputs; n += BLOCK_CHANNELS) {                     \
                        int64_t left = convolution->outputs - n;                                             \
                        name##_block_##lower(convolve, &position, batch, group, n,                           \
                            left < BLOCK_CHANNELS ? left : BLOCK_CHANNELS);                                  \
                    }                                                                                        \
                }                                                                                            \
            } while (walk_next(&position.output));                                                           \
        }                                                                                                    \
    }

FLOATING_ELEMENTS(CONVOLVE_LOOP, convolve, )
static const ConvolveLoop convolve_loops[DTYPE_COUNT] = {FLOATING_LOOPS(convolve)};

static bool
supports_floats(const Node *node)
{
    return convolve_loops[node->input_dtypes[0]] != NULL;
}

/* `bias` may be NULL. */
static Status
compute_convolution(KernelContext *context, const Convolution *convolution, const void *bias)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, input->dtype, &convolution->output, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    Convolve convolve = {
        .convolution = convolution,
        .sliding = sliding_over(&convolution->window, &input->shape, &output->shape),
        .input = input->data,
        .filter = context->inputs[1].data,
        .bias = bias,
        .output = output->data,
        .steps = filter_steps(convolution, &context->inputs[1].shape),
    };
    convolve_loops[input->dtype](&convolve);
    return STATUS_OK;
}

static Status
convolve_tensorflow(KernelContext *context, int rank)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_tensorflow(context->call, &inference.context, rank, &convolution));
    return compute_convolution(context, &convolution, NULL);
}

static Status
conv2d_compute(KernelContext *context)
{
    return convolve_tensorflow(context, 2);
}

static Status
conv3d_compute(KernelContext *context)
{
    return convolve_tensorflow(context, 3);
}

static Status
onnx_conv_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx(context->call, &inference.context, &convolution));
    return compute_convolution(
        context, &convolution, context->input_count > 2 ? context->inputs[2].data : NULL);
}

static bool
fused_supports(const Node *node)
{
    return supports_floats(node) && epilogue_supports(node);
}

static Status
fused_conv2d_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_tensorflow(context->call, &inference.context, 2, &convolution));
    TRY(epilogue_check(context->call, &inference.context, &convolution.output, convolution.window.channel));
    TRY(compute_convolution(context, &convolution, NULL));
    return epilogue_finish(context, convolution.window.channel);
}

static Status
fused_onnx_conv_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx(context->call, &inference.context, &convolution));
    TRY(epilogue_check(context->call, &inference.context, &convolution.output, convolution.window.channel));
    TRY(compute_convolution(context, &convolution, NULL));
    return epilogue_finish(context, convolution.window.channel);
}

static const Kernel convolution_kernels[] = {
    {.op = "Conv2D", .supports = supports_floats, .compute = conv2d_compute},
    {.op = "Conv3D", .supports = supports_floats, .compute = conv3d_compute},
    {.op = "DepthwiseConv2dNative", .supports = supports_floats, .compute = conv2d_compute},
    {.op = "_FusedConv2D",
        .supports = fused_supports,
        .compute = fused_conv2d_compute,
        .wide_inputs = ~3U,
        .wide_outputs = 1},
    {.op = "FusedDepthwiseConv2dNative",
        .supports = fused_supports,
        .compute = fused_conv2d_compute,
        .wide_inputs = ~3U,
        .wide_outputs = 1},
    {.op = "_FusedDepthwiseConv2dNative",
        .supports = fused_supports,
        .compute = fused_conv2d_compute,
        .wide_inputs = ~3U,
        .wide_outputs = 1},
    {.op = "_FusedOnnxConv",
        .supports = fused_supports,
        .compute = fused_onnx_conv_compute,
        .wide_inputs = ~3U,
        .wide_outputs = 1},
    {.op = "onnx::Conv", .supports = supports_floats, .compute = onnx_conv_compute},
};

KERNEL_FAMILY(reference, convolution, convolution_kernels);
