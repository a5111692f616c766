/* Convolutions of ONNX's quantised numbers (shared/ops/convolution): with scales they are computed as floats
 * by what convolves floats, and quantised again, so that a number may be next to that of the reference
 * kernel; without, in int32. */
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/convolution.h"
#include "worker/cuda/kernels/quantize.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/window.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scaling.h"

enum { INPUT = 0, FILTER = 3, RESULT_SCALE = 6, BIAS = 8 };

static bool
is_byte(Dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8;
}

static bool
supports_bytes(const Node *node)
{
    return is_byte(node->input_dtypes[INPUT]) && is_byte(node->input_dtypes[FILTER]) &&
           is_byte(node->output_dtypes[0]);
}

/* Makes floats of input `input`, whose scales, along this axis, and zero points follow it. */
static Status
widen(KernelContext *context, uint32_t input, int64_t axis, Tensor *ret_wide)
{
    const Tensor *numbers = &context->inputs[input];
    Lines lines;
    TRY(scaling_lines(context, input + 1, &numbers->shape, axis, &lines));
    TRY(scratch_new(context, DTYPE_FLOAT32, &numbers->shape, ret_wide));
    CudaQuantised quantised = {.input = numbers->data,
        .output = ret_wide->data,
        .count = tensor_element_count(numbers),
        .scaling = {.scales = context->inputs[input + 1].data,
            .type = CUDA_FLOAT32,
            .zero_points = context->inputs[input + 2].data,
            .size = lines.size,
            .inner = lines.inner}};
    int error = quantised.count == 0 ? 0
                                     : cuda_dequantize(cuda_type(numbers->dtype), CUDA_FLOAT32, &quantised,
                                           cuda_stream(context));
    return cuda_check(context->call, error, "a DequantizeLinear kernel");
}

/* Makes floats of the bias; none when there is no bias. */
static Status
widen_bias(KernelContext *context, Tensor *ret_wide)
{
    const Tensor *bias = &context->inputs[BIAS];
    if (context->input_count <= BIAS || bias->dtype == DTYPE_INVALID || tensor_element_count(bias) == 0) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, DTYPE_FLOAT32, &bias->shape, ret_wide));
    CudaBias scaled = {.bias = bias->data,
        .scale = context->inputs[INPUT + 1].data,
        .scales = context->inputs[FILTER + 1].data,
        .has_one_scale = tensor_element_count(&context->inputs[FILTER + 1]) == 1,
        .count = tensor_element_count(bias),
        .output = ret_wide->data};
    return cuda_check(context->call, cuda_scale_bias(&scaled, cuda_stream(context)), "a bias");
}

static CudaConvolution
describe(const Convolution *convolution, const Tensor *input, const Tensor *filter, const Tensor *output)
{
    return (CudaConvolution){
        .window = operands_window(&convolution->window, &input->shape, &output->shape),
        .filter_steps = operands_filter(convolution, &filter->shape),
        .groups = convolution->groups,
        .inputs = convolution->inputs,
        .outputs = convolution->outputs,
        .input = input->data,
        .filter = filter->data,
        .output = output->data,
    };
}

static Status
convolve(KernelContext *context, const Convolution *convolution, const Tensor *sums)
{
    AUTO_TENSOR input = {0};
    AUTO_TENSOR filter = {0};
    AUTO_TENSOR bias = {0};
    TRY(widen(context, INPUT, 1, &input));
    TRY(widen(context, FILTER, 0, &filter));
    TRY(widen_bias(context, &bias));
    CudaConvolution launched = describe(convolution, &input, &filter, sums);
    launched.epilogue.bias = bias.data;
    return convolution_enqueue(context, &launched, sums);
}

static Status
compute_quantised_convolution(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    Lines lines;
    Tensor *output = NULL;
    AUTO_TENSOR sums = {0};
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_integer(context->call, &inference.context, &convolution));
    TRY(scaling_lines(context, RESULT_SCALE, &convolution.output, 1, &lines));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &convolution.output, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, DTYPE_FLOAT32, &convolution.output, &sums));
    TRY(convolve(context, &convolution, &sums));
    CudaQuantised quantised = {.input = sums.data,
        .output = output->data,
        .count = tensor_element_count(output),
        .scaling = {.scales = context->inputs[RESULT_SCALE].data,
            .type = CUDA_FLOAT32,
            .zero_points = context->inputs[RESULT_SCALE + 1].data,
            .size = lines.size,
            .inner = lines.inner}};
    int error = cuda_quantize(CUDA_FLOAT32, cuda_type(output->dtype), &quantised, cuda_stream(context));
    return cuda_check(context->call, error, "a QuantizeLinear kernel");
}

static bool
supports_integers(const Node *node)
{
    return is_byte(node->input_dtypes[0]) && is_byte(node->input_dtypes[1]);
}

static Status
convolve_integers(KernelContext *context, const Convolution *convolution, const Tensor *output)
{
    AUTO_TENSOR input = {0};
    AUTO_TENSOR filter = {0};
    TRY(quantize_centre(context, 0, context->inputs[0].shape.rank, &input));
    TRY(quantize_centre(context, 1, context->inputs[1].shape.rank, &filter));
    CudaConvolution launched = describe(convolution, &input, &filter, output);
    int error = cuda_convolve_integers(&launched, cuda_stream(context));
    return cuda_check(context->call, error, "a ConvInteger kernel");
}

static Status
compute_integer_convolution(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx_integer(context->call, &inference.context, &convolution));
    TRY(kernel_output(context, 0, DTYPE_INT32, &convolution.output, &output));
    return tensor_element_count(output) == 0 ? STATUS_OK : convolve_integers(context, &convolution, output);
}

static const Kernel quantized_convolution_kernels[] = {
    {.op = "onnx::ConvInteger", .supports = supports_integers, .compute = compute_integer_convolution},
    {.op = "onnx::QLinearConv", .supports = supports_bytes, .compute = compute_quantised_convolution},
};

KERNEL_FAMILY(cuda_kernels, quantized_convolution, quantized_convolution_kernels);
