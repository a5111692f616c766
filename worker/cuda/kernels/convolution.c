/* Convolutions of TensorFlow and ONNX, alone or fused with what follows. The ops' own rules check shapes. */
#include "worker/cuda/kernels/convolution.h"

#include "shared/base/memory.h"
#include "worker/cuda/dnn/convolution.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/epilogue.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/window.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
create_fused(Call *call, const Node *node, void **ret_state)
{
    Epilogue epilogue;
    TRY(epilogue_read(call, node, &epilogue));
    Epilogue *copy = memory_new(1, sizeof *copy);
    if (copy == NULL) {
        return call_fail_memory(call, "a convolution");
    }
    *copy = epilogue;
    *ret_state = copy;
    return STATUS_OK;
}

/* Applies the steps that the library left. */
static Status
finish_convolution(
    KernelContext *context, const CudaEpilogue *rest, const CudaWindow *window, const Tensor *output)
{
    if (cuda_epilogue_is_empty(rest)) {
        return STATUS_OK;
    }
    int error = cuda_finish(cuda_type(output->dtype), rest, output->data, tensor_element_count(output),
        window->channels, window->output.channel, cuda_stream(context));
    return cuda_check(context->call, error, "the steps behind a convolution");
}

Status
convolution_enqueue(KernelContext *context, const CudaConvolution *convolution, const Tensor *output)
{
    CudaType type = cuda_type(output->dtype);
    CudaEpilogue rest;
    DnnRefusal refusal = DNN_ACCEPTED;
    TRY(dnn_convolve(context, DNN_FORWARD, type, convolution, &refusal, &rest));
    return refusal == DNN_ACCEPTED
               ? finish_convolution(context, &rest, &convolution->window, output)
               : cuda_check(
                     context->call, cuda_convolve(type, convolution, cuda_stream(context)), "a convolution");
}

/* Computes the convolution that the op's rule has read, with these steps behind its sums. */
static Status
compute_convolution(KernelContext *context, const Convolution *convolution, const CudaEpilogue *epilogue)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, input->dtype, &convolution->output, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaConvolution launched = {
        .window = operands_window(&convolution->window, &input->shape, &output->shape),
        .filter_steps = operands_filter(convolution, &context->inputs[1].shape),
        .groups = convolution->groups,
        .inputs = convolution->inputs,
        .outputs = convolution->outputs,
        .input = input->data,
        .filter = context->inputs[1].data,
        .output = output->data,
        .epilogue = *epilogue,
    };
    return convolution_enqueue(context, &launched, output);
}

typedef Status (*ReadConvolution)(Call *call, const InferContext *context, Convolution *ret_convolution);

static Status
read_conv2d(Call *call, const InferContext *context, Convolution *ret_convolution)
{
    return convolution_tensorflow(call, context, 2, ret_convolution);
}

static Status
read_conv3d(Call *call, const InferContext *context, Convolution *ret_convolution)
{
    return convolution_tensorflow(call, context, 3, ret_convolution);
}

/* A third input of a plain convolution is its bias. */
static Status
compute_plain(KernelContext *context, ReadConvolution read)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(read(context->call, &inference.context, &convolution));
    CudaEpilogue epilogue = {.bias = context->input_count > 2 ? context->inputs[2].data : NULL};
    return compute_convolution(context, &convolution, &epilogue);
}

static Status
compute_fused(KernelContext *context, ReadConvolution read)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(read(context->call, &inference.context, &convolution));
    TRY(epilogue_check(context->call, &inference.context, &convolution.output, convolution.window.channel));
    CudaEpilogue epilogue = operands_epilogue(context, context->state);
    return compute_convolution(context, &convolution, &epilogue);
}

static Status
conv2d_compute(KernelContext *context)
{
    return compute_plain(context, read_conv2d);
}

static Status
conv3d_compute(KernelContext *context)
{
    return compute_plain(context, read_conv3d);
}

static Status
onnx_conv_compute(KernelContext *context)
{
    return compute_plain(context, convolution_onnx);
}

static Status
fused_conv2d_compute(KernelContext *context)
{
    return compute_fused(context, read_conv2d);
}

static Status
fused_onnx_conv_compute(KernelContext *context)
{
    return compute_fused(context, convolution_onnx);
}

#define PLAIN_KERNEL(name, function)                                                                         \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .compute = (function)                                     \
    }
#define FUSED_KERNEL(name, function)                                                                         \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .create = create_fused, .destroy = memory_free,           \
        .compute = (function)                                                                                \
    }

static const Kernel convolution_kernels[] = {
    PLAIN_KERNEL("Conv2D", conv2d_compute),
    PLAIN_KERNEL("Conv3D", conv3d_compute),
    PLAIN_KERNEL("DepthwiseConv2dNative", conv2d_compute),
    PLAIN_KERNEL("onnx::Conv", onnx_conv_compute),
    FUSED_KERNEL("_FusedConv2D", fused_conv2d_compute),
    FUSED_KERNEL("FusedDepthwiseConv2dNative", fused_conv2d_compute),
    FUSED_KERNEL("_FusedDepthwiseConv2dNative", fused_conv2d_compute),
    FUSED_KERNEL("_FusedOnnxConv", fused_onnx_conv_compute),
};

KERNEL_FAMILY(cuda_kernels, convolution, convolution_kernels);
