/* ONNX's quantised numbers, and products of matrices of them: of integers in int32; of others as floats of
 * the scales' dtype, by what computes products of floats, so that a number may be next to that of the
 * reference kernel (shared/ops/quantize). */
#include "worker/cuda/kernels/quantize.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/product.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scaling.h"

static bool
supports_quantize(const Node *node)
{
    return scaling_is_plain(node) && dtype_is_floating(node->input_dtypes[0]) &&
           dtype_is_floating(node->input_dtypes[1]) && scaling_has(node->output_dtypes[0]);
}

static bool
supports_dequantize(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return scaling_is_plain(node) && (scaling_has(dtype) || dtype == DTYPE_INT32) &&
           dtype_is_floating(node->input_dtypes[1]) && dtype_is_floating(node->output_dtypes[0]);
}

/* Returns what the scales in input `first` make of the input's elements. */
static CudaQuantised
read_quantised(const KernelContext *context, const Tensor *input, uint32_t first, const Lines *lines,
    const Tensor *output)
{
    return (CudaQuantised){.input = input->data,
        .output = output->data,
        .count = tensor_element_count(output),
        .scaling = {.scales = context->inputs[first].data,
            .type = cuda_type(context->inputs[first].dtype),
            .zero_points = context->inputs[first + 1].data,
            .size = lines->size,
            .inner = lines->inner}};
}

static Status
quantize(KernelContext *context, const Tensor *input, const CudaQuantised *quantised)
{
    int error = quantised->count == 0
                    ? 0
                    : cuda_quantize(cuda_type(input->dtype), cuda_type(context->outputs[0].dtype), quantised,
                          cuda_stream(context));
    return cuda_check(context->call, error, "a QuantizeLinear kernel");
}

static Status
dequantize(KernelContext *context, const Tensor *input, const Tensor *output, const CudaQuantised *quantised)
{
    int error = quantised->count == 0 ? 0
                                      : cuda_dequantize(cuda_type(input->dtype), cuda_type(output->dtype),
                                            quantised, cuda_stream(context));
    return cuda_check(context->call, error, "a DequantizeLinear kernel");
}

static Status
compute_quantize(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Lines lines;
    Tensor *output = NULL;
    TRY(scaling_lines(context, 1, &input->shape, node_attr_int(context->node, "axis"), &lines));
    TRY(output_new(context, &output));
    CudaQuantised quantised = read_quantised(context, input, 1, &lines, output);
    return quantize(context, input, &quantised);
}

static Status
compute_dequantize(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Lines lines;
    Tensor *output = NULL;
    TRY(scaling_lines(context, 1, &input->shape, node_attr_int(context->node, "axis"), &lines));
    TRY(output_new(context, &output));
    CudaQuantised quantised = read_quantised(context, input, 1, &lines, output);
    return dequantize(context, input, output, &quantised);
}

static bool
supports_dynamic(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static Status
compute_dynamic(KernelContext *context)
{
    enum { OUTPUTS = 3 };
    const Tensor *input = &context->inputs[0];
    Shape room = shape_vector(CUDA_RANGE_ROOM);
    Shape shapes[OUTPUTS];
    Tensor *outputs[OUTPUTS];
    AUTO_TENSOR parts = {0};
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < OUTPUTS; index++) {
        TRY(kernel_output(
            context, index, context->node->output_dtypes[index], &shapes[index], &outputs[index]));
    }
    TRY(scratch_new(context, DTYPE_FLOAT32, &room, &parts));
    CudaRange range = {.input = input->data,
        .count = tensor_element_count(input),
        .parts = parts.data,
        .scale = outputs[1]->data,
        .zero_point = outputs[2]->data};
    TRY(cuda_check(context->call, cuda_find_scale(&range, cuda_stream(context)), "a search for a scale"));
    CudaQuantised quantised = {.input = input->data,
        .output = outputs[0]->data,
        .count = range.count,
        .scaling = {.scales = range.scale,
            .type = CUDA_FLOAT32,
            .zero_points = range.zero_point,
            .size = 1,
            .inner = INT64_MAX}};
    return quantize(context, input, &quantised);
}

static bool
supports_integers(const Node *node)
{
    return scaling_has(node->input_dtypes[0]) && scaling_has(node->input_dtypes[1]);
}

static Status
multiply(KernelContext *context, const Tensor *a, const Tensor *b, const Tensor *output)
{
    CudaProduct product = operands_product(a, false, b, false);
    product.output = output->data;
    int error = cuda_multiply(cuda_type(output->dtype), &product, cuda_stream(context));
    return cuda_check(context->call, error, "a product of quantised matrices");
}

Status
quantize_centre(KernelContext *context, uint32_t input, int from_end, Tensor *ret_centred)
{
    const Tensor *numbers = &context->inputs[input];
    uint32_t zero_points = input + 2;
    Lines lines;
    TRY(scaling_zero_lines(context, input, zero_points, from_end, &lines));
    TRY(scratch_new(context, DTYPE_INT32, &numbers->shape, ret_centred));
    CudaQuantised quantised = {.input = numbers->data,
        .output = ret_centred->data,
        .count = tensor_element_count(numbers),
        .scaling = {
            .zero_points = zero_points < context->input_count ? context->inputs[zero_points].data : NULL,
            .size = lines.size,
            .inner = lines.inner}};
    int error =
        quantised.count == 0 ? 0 : cuda_centre(cuda_type(numbers->dtype), &quantised, cuda_stream(context));
    return cuda_check(context->call, error, "a subtraction of zero points");
}

static Status
compute_integer_product(KernelContext *context)
{
    AUTO_TENSOR a = {0};
    AUTO_TENSOR b = {0};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(quantize_centre(context, 0, 2, &a));
    TRY(quantize_centre(context, 1, 1, &b));
    return multiply(context, &a, &b, output);
}

static bool
supports_quantised_product(const Node *node)
{
    return scaling_has(node->input_dtypes[0]) && scaling_has(node->input_dtypes[3]) &&
           scaling_has(node->output_dtypes[0]) && dtype_is_floating(node->input_dtypes[1]);
}

/* Returns the dtype in which the product is computed: products of 16-bit floats need more. */
static Dtype
product_dtype(const KernelContext *context)
{
    return context->inputs[1].dtype == DTYPE_FLOAT32 ? DTYPE_FLOAT32 : DTYPE_FLOAT64;
}

/* Makes floats of the matrix in input `input`, whose scales and zero points follow it. */
static Status
widen(KernelContext *context, uint32_t input, const Lines *lines, Tensor *ret_wide)
{
    const Tensor *matrix = &context->inputs[input];
    TRY(scratch_new(context, product_dtype(context), &matrix->shape, ret_wide));
    CudaQuantised quantised = read_quantised(context, matrix, input + 1, lines, ret_wide);
    return dequantize(context, matrix, ret_wide, &quantised);
}

/* Never rounds to TF32: sessions ask for that where their numbers are float32, and these are bytes. */
static Status
multiply_floats(const KernelContext *context, const Tensor *a, const Tensor *b, const Tensor *output)
{
    KernelContext exact = *context;
    exact.allows_tf32 = false;
    CudaProduct product = operands_product(a, false, b, false);
    product.output = output->data;
    return output->data == NULL ? STATUS_OK : matmul_enqueue(&exact, cuda_type(output->dtype), &product);
}

static Status
compute_quantised_product(KernelContext *context)
{
    enum { LEFT = 0, RIGHT = 3, RESULT_SCALE = 6 };
    AUTO_TENSOR a = {0};
    AUTO_TENSOR b = {0};
    AUTO_TENSOR product = {0};
    Shape shape;
    Lines lines[3];
    Tensor *output = NULL;
    TRY(output_shapes(context, &shape));
    TRY(scaling_lines(context, LEFT + 1, &context->inputs[LEFT].shape, -2, &lines[0]));
    TRY(scaling_lines(context, RIGHT + 1, &context->inputs[RIGHT].shape, -1, &lines[1]));
    TRY(scaling_lines(context, RESULT_SCALE, &shape, -1, &lines[2]));
    TRY(widen(context, LEFT, &lines[0], &a));
    TRY(widen(context, RIGHT, &lines[1], &b));
    TRY(scratch_new(context, product_dtype(context), &shape, &product));
    TRY(multiply_floats(context, &a, &b, &product));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    CudaQuantised quantised = read_quantised(context, &product, RESULT_SCALE, &lines[2], output);
    return quantize(context, &product, &quantised);
}

static const Kernel quantize_kernels[] = {
    {.op = "onnx::QuantizeLinear", .supports = supports_quantize, .compute = compute_quantize},
    {.op = "onnx::DequantizeLinear", .supports = supports_dequantize, .compute = compute_dequantize},
    {.op = "onnx::DynamicQuantizeLinear", .supports = supports_dynamic, .compute = compute_dynamic},
    {.op = "onnx::MatMulInteger", .supports = supports_integers, .compute = compute_integer_product},
    {.op = "onnx::QLinearMatMul",
        .supports = supports_quantised_product,
        .compute = compute_quantised_product},
};

KERNEL_FAMILY(cuda_kernels, quantize, quantize_kernels);
