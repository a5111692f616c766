/* ONNX's quantised numbers: floats as integers with a scale and a zero point, and products of matrices of
 * them. */
#include <math.h>

#include "worker/reference/fill.h"
#include "worker/reference/matrix.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scaling.h"

/* One scale and zero point for all elements, or one for each position along an axis. */
typedef struct Scaling {
    Tensor scales;      /* float64 */
    Tensor zero_points; /* float64; no elements: all zero points are 0 */
    Lines lines;        /* of the elements; size 1 when there is one scale for all */
} Scaling;

static void
scaling_done(Scaling *scaling)
{
    tensor_unref(&scaling->scales);
    tensor_unref(&scaling->zero_points);
}
#define AUTO_SCALING CLEANUP(scaling_done) Scaling

/* Reads the scales from input `first`, and the zero points from the next one, if it is present. */
static Status
read_scaling(KernelContext *context, const Shape *shape, uint32_t first, int64_t axis, Scaling *scaling)
{
    const Tensor *zero = &context->inputs[first + 1];
    TRY(scaling_lines(context, first, shape, axis, &scaling->lines));
    TRY(scratch_cast(context, &context->inputs[first], DTYPE_FLOAT64, &scaling->scales));
    return zero->dtype == DTYPE_INVALID ? STATUS_OK
                                        : scratch_cast(context, zero, DTYPE_FLOAT64, &scaling->zero_points);
}

static double
scale_at(const Scaling *scaling, int64_t n, double *ret_zero_point)
{
    int64_t position = n / scaling->lines.inner % scaling->lines.size;
    *ret_zero_point =
        scaling->zero_points.data == NULL ? 0 : ((const double *)scaling->zero_points.data)[position];
    return ((const double *)scaling->scales.data)[position];
}

typedef struct Range {
    double least;
    double most;
} Range;

static Range
integer_range(Dtype dtype)
{
    static const Range ranges[DTYPE_COUNT] = {
        [DTYPE_INT8] = {INT8_MIN, INT8_MAX},
        [DTYPE_UINT8] = {0, UINT8_MAX},
        [DTYPE_INT16] = {INT16_MIN, INT16_MAX},
        [DTYPE_UINT16] = {0, UINT16_MAX},
    };
    return ranges[dtype];
}

/* NaN becomes the least number, as it does with the instructions that ONNX Runtime clamps with. */
static double
quantised(double value, double zero_point, Range range)
{
    double whole = nearbyint(value) + zero_point;
    return !(whole > range.least) ? range.least : whole > range.most ? range.most : whole;
}

static void
quantize_all(const Scaling *scaling, Dtype dtype, Tensor *values)
{
    double *elements = values->data;
    for (int64_t n = 0; n < tensor_element_count(values); n++) {
        double zero_point = 0;
        double scale = scale_at(scaling, n, &zero_point);
        float quotient = (float)elements[n] / (float)scale; /* in float, as ONNX says: it decides which
                                                             * quotients are halves */
        elements[n] = quantised((double)quotient, zero_point, integer_range(dtype));
    }
}

static void
dequantize_all(const Scaling *scaling, Tensor *values)
{
    double *elements = values->data;
    for (int64_t n = 0; n < tensor_element_count(values); n++) {
        double zero_point = 0;
        double scale = scale_at(scaling, n, &zero_point);
        elements[n] = (elements[n] - zero_point) * scale;
    }
}

static bool
quantize_supports(const Node *node)
{
    return scaling_is_plain(node) && dtype_is_floating(node->input_dtypes[0]) &&
           scaling_has(node->output_dtypes[0]);
}

static Status
quantize_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    AUTO_SCALING scaling = {0};
    AUTO_TENSOR values = {0};
    TRY(read_scaling(context, &input->shape, 1, node_attr_int(context->node, "axis"), &scaling));
    TRY(scratch_cast(context, input, DTYPE_FLOAT64, &values));
    quantize_all(&scaling, context->node->output_dtypes[0], &values);
    return scratch_finish(context, 0, &values);
}

static bool
dequantize_supports(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return scaling_is_plain(node) && (scaling_has(dtype) || dtype == DTYPE_INT32) &&
           dtype_is_floating(node->output_dtypes[0]);
}

static Status
dequantize_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    AUTO_SCALING scaling = {0};
    AUTO_TENSOR values = {0};
    TRY(read_scaling(context, &input->shape, 1, node_attr_int(context->node, "axis"), &scaling));
    TRY(scratch_cast(context, input, DTYPE_FLOAT64, &values));
    dequantize_all(&scaling, &values);
    return scratch_finish(context, 0, &values);
}

/* The scale follows from the range of the elements, to which 0 always belongs. Computed in float, as ONNX
 * says. */
static Status
dynamic_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    const float *elements = input->data;
    Shape scalar = shape_scalar();
    Tensor *output = NULL;
    Tensor *scale = NULL;
    Tensor *zero_point = NULL;
    float least = 0;
    float most = 0;
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        least = fminf(least, elements[n]);
        most = fmaxf(most, elements[n]);
    }
    TRY(kernel_output(context, 0, DTYPE_UINT8, &input->shape, &output));
    TRY(kernel_output(context, 1, DTYPE_FLOAT32, &scalar, &scale));
    TRY(kernel_output(context, 2, DTYPE_UINT8, &scalar, &zero_point));
    Range range = integer_range(DTYPE_UINT8);
    float step = most > least ? (most - least) / (float)range.most : 1;
    double zero = quantised((double)(-least / step), 0, range);
    *(float *)scale->data = step;
    *(uint8_t *)zero_point->data = (uint8_t)zero;
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        ((uint8_t *)output->data)[n] = (uint8_t)quantised((double)(elements[n] / step), zero, range);
    }
    return STATUS_OK;
}

static bool
integer_supports(const Node *node)
{
    return scaling_has(node->input_dtypes[0]) && scaling_has(node->input_dtypes[1]);
}

/* Subtracts the zero point: one for all elements, or one for each position along dimension `axis`, counted
 * from the end. */
static Status
without_zero_point(KernelContext *context, uint32_t input, int axis, Tensor *ret_integers)
{
    const Tensor *zero = &context->inputs[input + 2];
    Lines lines;
    TRY(scaling_zero_lines(context, input, input + 2, axis, &lines));
    TRY(scratch_cast(context, &context->inputs[input], DTYPE_INT32, ret_integers));
    if (zero->dtype == DTYPE_INVALID) {
        return STATUS_OK;
    }
    for (int64_t n = 0; n < tensor_element_count(ret_integers); n++) {
        int64_t zero_point = 0;
        (void)!tensor_to_int64(zero, n / lines.inner % lines.size, &zero_point);
        ((int32_t *)ret_integers->data)[n] -= (int32_t)zero_point;
    }
    return STATUS_OK;
}

static Status
matmul_integer_compute(KernelContext *context)
{
    AUTO_TENSOR a = {0};
    AUTO_TENSOR b = {0};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(without_zero_point(context, 0, 2, &a));
    TRY(without_zero_point(context, 1, 1, &b));
    matrix_multiply(&a, false, &b, false, output);
    return STATUS_OK;
}

static bool
qlinear_supports(const Node *node)
{
    return scaling_has(node->input_dtypes[0]) && scaling_has(node->input_dtypes[3]) &&
           scaling_has(node->output_dtypes[0]);
}

/* Scales one sum after the other: those of rows, of columns and of the result may all differ. */
static void
requantize_products(
    const Scaling *left, const Scaling *right, const Scaling *result, const Tensor *sums, Tensor *output)
{
    size_t size = dtype_size(output->dtype);
    for (int64_t n = 0; n < tensor_element_count(sums); n++) {
        double zero_point = 0;
        float scale = (float)scale_at(left, n, &zero_point) * (float)scale_at(right, n, &zero_point);
        scale /= (float)scale_at(result, n, &zero_point);
        Requantizer to = {output->dtype, (int32_t)zero_point};
        requantize(&to, (const int32_t *)sums->data + n, 1, scale, (char *)output->data + (size_t)n * size);
    }
}

static Status
qlinear_matmul_compute(KernelContext *context)
{
    AUTO_SCALING left = {0};
    AUTO_SCALING right = {0};
    AUTO_SCALING result = {0};
    AUTO_TENSOR a = {0};
    AUTO_TENSOR b = {0};
    AUTO_TENSOR sums = {0};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(read_scaling(context, &output->shape, 1, -2, &left));
    TRY(read_scaling(context, &output->shape, 4, -1, &right));
    TRY(read_scaling(context, &output->shape, 6, -1, &result));
    TRY(without_zero_point(context, 0, 2, &a));
    TRY(without_zero_point(context, 3, 1, &b));
    TRY(scratch_new(context, DTYPE_INT32, &output->shape, &sums));
    matrix_multiply(&a, false, &b, false, &sums);
    requantize_products(&left, &right, &result, &sums, output);
    return STATUS_OK;
}

static bool
dynamic_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const Kernel quantize_kernels[] = {
    {.op = "onnx::QuantizeLinear",
        .supports = quantize_supports,
        .compute = quantize_compute,
        .wide_inputs = 7},
    {.op = "onnx::DequantizeLinear",
        .supports = dequantize_supports,
        .compute = dequantize_compute,
        .wide_inputs = 7},
    {.op = "onnx::DynamicQuantizeLinear", .supports = dynamic_supports, .compute = dynamic_compute},
    {.op = "onnx::MatMulInteger", .supports = integer_supports, .compute = matmul_integer_compute},
    {.op = "onnx::QLinearMatMul",
        .supports = qlinear_supports,
        .compute = qlinear_matmul_compute,
        .wide_inputs = 9,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, quantize, quantize_kernels);
