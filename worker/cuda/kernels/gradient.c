/* The gradients of TensorFlow's convolutions, for the image and for the filter, and ONNX's transposed
 * convolution, which is one for the image. The ops' own rules check shapes. */
#include "worker/cuda/kernels/gradient.h"

#include "worker/cuda/dnn/convolution.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/window.h"
#include "worker/reference/outputs.h"

/* The inputs: both ops have the gradient of the output last. */
enum { IMAGE, FILTER, GRADIENT };

static bool
supports_float_gradient(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[GRADIENT]);
}

static int
spatial_rank(const Node *node)
{
    return slice_starts_with(node->op->name, SLICE("Conv3D")) ? 3 : 2;
}

/* Computes by cuDNN where it can, by the plain kernel everywhere else. */
static Status
launch_gradient(KernelContext *context, DnnKind kind, CudaType type, const CudaConvolution *convolution)
{
    void *result = context->outputs[0].data;
    DnnRefusal refusal = DNN_ACCEPTED;
    CudaEpilogue rest;
    TRY(dnn_convolve(context, kind, type, convolution, &refusal, &rest));
    if (refusal == DNN_ACCEPTED) {
        return STATUS_OK;
    }
    cudaStream_t stream = cuda_stream(context);
    int error = kind == DNN_TO_IMAGE ? cuda_convolve_to_image(type, convolution, result, stream)
                                     : cuda_convolve_to_filter(type, convolution, result, stream);
    return cuda_check(context->call, error, "the gradient of a convolution");
}

/* Describes a convolution of these tensors, one of which is to be computed. */
static CudaConvolution
describe_gradient(
    const Convolution *convolution, const Tensor *image, const Tensor *filter, const Tensor *gradient)
{
    return (CudaConvolution){
        .window = operands_window(&convolution->window, &image->shape, &gradient->shape),
        .filter_steps = operands_filter(convolution, &filter->shape),
        .groups = convolution->groups,
        .inputs = convolution->inputs,
        .outputs = convolution->outputs,
        .input = image->data,
        .filter = filter->data,
        .output = gradient->data,
    };
}

/* Computes the gradient of the image or of the filter, which has this shape. */
static Status
compute_gradient(KernelContext *context, DnnKind kind, const Convolution *convolution, const Shape *shape)
{
    bool is_image = kind == DNN_TO_IMAGE;
    const Tensor *gradient = &context->inputs[GRADIENT];
    Tensor *result = NULL;
    TRY(kernel_output(context, 0, gradient->dtype, shape, &result));
    if (result->data == NULL) {
        return STATUS_OK;
    }
    CudaConvolution launched = describe_gradient(convolution, is_image ? result : &context->inputs[IMAGE],
        is_image ? &context->inputs[FILTER] : result, gradient);
    return launch_gradient(context, kind, cuda_type(gradient->dtype), &launched);
}

static Status
backprop_input_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    Shape image;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_backprop_input(
        context->call, &inference.context, spatial_rank(context->node), &convolution, &image));
    return compute_gradient(context, DNN_TO_IMAGE, &convolution, &image);
}

static Status
backprop_filter_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    Shape filter;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_backprop_filter(
        context->call, &inference.context, spatial_rank(context->node), &convolution, &filter));
    return compute_gradient(context, DNN_TO_FILTER, &convolution, &filter);
}

/* The inputs of a transposed convolution; the last one is optional. */
enum { TRANSPOSED_GRADIENT, TRANSPOSED_FILTER, TRANSPOSED_BIAS };

static bool
supports_transposed(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[TRANSPOSED_GRADIENT]);
}

/* Adds the bias to each channel of the image. */
static Status
add_bias(KernelContext *context, const CudaWindow *window, int64_t channels)
{
    const Tensor *image = &context->outputs[0];
    const Tensor *bias = context->input_count > TRANSPOSED_BIAS ? &context->inputs[TRANSPOSED_BIAS] : NULL;
    if (bias == NULL || bias->data == NULL) {
        return STATUS_OK;
    }
    CudaEpilogue epilogue = {.bias = bias->data};
    int error = cuda_finish(cuda_type(image->dtype), &epilogue, image->data, tensor_element_count(image),
        channels, window->input.channel, cuda_stream(context));
    return cuda_check(context->call, error, "the bias of a transposed convolution");
}

static Status
transposed_compute(KernelContext *context)
{
    const Tensor *gradient = &context->inputs[TRANSPOSED_GRADIENT];
    KernelInference inference;
    Convolution convolution;
    Tensor *image = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_transposed(context->call, &inference.context, &convolution));
    TRY(kernel_output(context, 0, gradient->dtype, &convolution.output, &image));
    if (image->data == NULL) {
        return STATUS_OK;
    }
    CudaConvolution launched =
        describe_gradient(&convolution, image, &context->inputs[TRANSPOSED_FILTER], gradient);
    TRY(launch_gradient(context, DNN_TO_IMAGE, cuda_type(image->dtype), &launched));
    return add_bias(context, &launched.window, convolution.groups * convolution.inputs);
}

/* The sizes of what is computed are asked for on the host. */
#define TO_IMAGE(name)                                                                                       \
    {                                                                                                        \
        .op = (name), .supports = supports_float_gradient, .compute = backprop_input_compute,                \
        .host_inputs = 1 << IMAGE                                                                            \
    }
#define TO_FILTER(name)                                                                                      \
    {                                                                                                        \
        .op = (name), .supports = supports_float_gradient, .compute = backprop_filter_compute,               \
        .host_inputs = 1 << FILTER                                                                           \
    }

static const Kernel gradient_kernels[] = {
    TO_IMAGE("Conv2DBackpropInput"),
    TO_IMAGE("Conv3DBackpropInputV2"),
    TO_IMAGE("DepthwiseConv2dNativeBackpropInput"),
    TO_FILTER("Conv2DBackpropFilter"),
    TO_FILTER("Conv3DBackpropFilterV2"),
    TO_FILTER("DepthwiseConv2dNativeBackpropFilter"),
    {.op = "onnx::ConvTranspose", .supports = supports_transposed, .compute = transposed_compute},
};

KERNEL_FAMILY(cuda_kernels, gradient, gradient_kernels);
