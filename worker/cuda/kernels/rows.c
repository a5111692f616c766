/* Reductions, softmax and normalisation. Which dimensions are folded is told by the ops' own rules. */
#include "worker/cuda/kernels/rows.h"

#include <assert.h>
#include <string.h>

#include "shared/ops/layout.h"
#include "shared/ops/reduce/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"

_Static_assert((int)CUDA_ROWS_RANK_MAX >= (int)SHAPE_RANK_MAX, "dimensions of every shape");

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* Merges the dimension with the last one when the two are walked evenly. */
static void
add_dimension(CudaDimensions *dimensions, int64_t size, int64_t stride)
{
    int last = dimensions->rank - 1;
    if (size == 1) {
        return;
    }
    if (last >= 0 && dimensions->strides[0][last] == stride * size) {
        dimensions->sizes[last] *= size;
        dimensions->strides[0][last] = stride;
        return;
    }
    dimensions->sizes[dimensions->rank] = size;
    dimensions->strides[0][dimensions->rank++] = stride;
}

static CudaReduce
plan_reduction(const Tensor *input, const Reduction *reduction, const Tensor *output)
{
    CudaReduce reduce = {.input = input->data,
        .output = output->data,
        .output_count = tensor_element_count(output),
        .count = 1};
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&input->shape, strides);
    for (int dimension = 0; dimension < input->shape.rank; dimension++) {
        int64_t size = input->shape.dims[dimension];
        bool is_folded = reduction->is_reduced[dimension];
        reduce.count *= is_folded ? size : 1;
        add_dimension(is_folded ? &reduce.folded : &reduce.kept, size, strides[dimension]);
    }
    return reduce;
}

static Status
compute_reduction(KernelContext *context, CudaReduction reduction)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    Reduction read;
    kernel_inference(context, NULL, &inference);
    TRY(reduction_read(context->call, &inference.context, &read));
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &read.output, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaReduce reduce = plan_reduction(input, &read, output);
    int error = cuda_reduce(reduction, cuda_type(input->dtype), &reduce, cuda_stream(context));
    return cuda_check(context->call, error, "a reduction");
}

/* The kernel functions of a reduction. */
#define REDUCTION(name, reduction)                                                                           \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        CudaType type = cuda_type(node->input_dtypes[0]);                                                    \
        return type != CUDA_INVALID && cuda_reduce(reduction, type, NULL, NULL) == cudaSuccess;              \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_reduction(context, reduction);                                                        \
    }

REDUCTION(sum, CUDA_REDUCE_SUM)
REDUCTION(mean, CUDA_REDUCE_MEAN)
REDUCTION(maximum, CUDA_REDUCE_MAXIMUM)
REDUCTION(minimum, CUDA_REDUCE_MINIMUM)
REDUCTION(product, CUDA_REDUCE_PRODUCT)
REDUCTION(norm, CUDA_REDUCE_NORM)
REDUCTION(absolute_sum, CUDA_REDUCE_ABSOLUTE_SUM)
REDUCTION(squares, CUDA_REDUCE_SQUARES)
REDUCTION(logarithm, CUDA_REDUCE_LOGARITHM)
REDUCTION(exponentials, CUDA_REDUCE_EXPONENTIALS)

/* The sum over all dimensions but the channels'. */
static Status
bias_gradient_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int channels = layout_channel(context->node, input->shape.rank);
    Reduction reduction = {0};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    for (int dimension = 0; dimension < input->shape.rank; dimension++) {
        reduction.is_reduced[dimension] = dimension != channels;
    }
    CudaReduce reduce = plan_reduction(input, &reduction, output);
    int error = cuda_reduce(CUDA_REDUCE_SUM, cuda_type(input->dtype), &reduce, cuda_stream(context));
    return cuda_check(context->call, error, "a BiasAddGrad kernel");
}

static Status
l2_loss_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Reduction all;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    memset(all.is_reduced, true, sizeof all.is_reduced);
    CudaReduce reduce = plan_reduction(input, &all, output);
    int error =
        cuda_reduce(CUDA_REDUCE_HALF_OF_SQUARES, cuda_type(input->dtype), &reduce, cuda_stream(context));
    return cuda_check(context->call, error, "an L2Loss kernel");
}

static CudaLines
lines_of(const KernelContext *context, const Tensor *output, int64_t axis)
{
    Lines along = lines_along(&output->shape, (int)(axis < 0 ? axis + output->shape.rank : axis));
    return (CudaLines){.input = context->inputs[0].data,
        .output = output->data,
        .outer = along.outer,
        .size = along.size,
        .inner = along.inner};
}

static Status
compute_softmax(KernelContext *context, int64_t axis, bool is_logarithm)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaLines lines = lines_of(context, output, axis);
    int error = cuda_softmax(cuda_type(output->dtype), &lines, is_logarithm, cuda_stream(context));
    return cuda_check(context->call, error, "a Softmax kernel");
}

static Status
softmax_compute(KernelContext *context)
{
    return compute_softmax(context, -1, false);
}

static Status
log_softmax_compute(KernelContext *context)
{
    return compute_softmax(context, -1, true);
}

static Status
onnx_softmax_compute(KernelContext *context)
{
    return compute_softmax(context, node_attr_int(context->node, "axis"), false);
}

static Status
onnx_log_softmax_compute(KernelContext *context)
{
    return compute_softmax(context, node_attr_int(context->node, "axis"), true);
}

static Status
hardmax_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaLines lines = lines_of(context, output, node_attr_int(context->node, "axis"));
    int error = cuda_hardmax(cuda_type(output->dtype), &lines, cuda_stream(context));
    return cuda_check(context->call, error, "a Hardmax kernel");
}

/* UNIMPLEMENTED for a scale or a bias that is broadcast along a row, as no network has it: a node is given to
 * the card before shapes are known. */
static Status
check_size(KernelContext *context, uint32_t input, int64_t size)
{
    const Tensor *tensor = &context->inputs[input];
    if (tensor_element_count(tensor) == size) {
        return STATUS_OK;
    }
    char text[SHAPE_TEXT_SIZE];
    return call_fail(context->call, STATUS_UNIMPLEMENTED,
        "input %u has shape %s, not one number for each of %lld elements: ask for /device:CPU:0", input,
        shape_text(&tensor->shape, text), (long long)size);
}

/* Statistics are kept in the type in which rows are computed. */
static bool
layer_norm_supports(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    Dtype wide = dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    for (uint32_t index = 1; index < node->output_count; index++) {
        if (node->output_dtypes[index] != wide) {
            return false;
        }
    }
    return dtype_is_floating(dtype);
}

/* Returns how many elements lie in the dimensions from the attribute `axis` on. */
static int64_t
row_size(const KernelContext *context)
{
    const Shape *shape = &context->inputs[0].shape;
    int axis = (int)node_attr_int(context->node, "axis");
    int64_t size = 1;
    for (int dimension = axis < 0 ? axis + shape->rank : axis; dimension < shape->rank; dimension++) {
        size *= shape->dims[dimension];
    }
    return size;
}

/* Rows without elements count where they have statistics. */
static int64_t
row_count(const KernelContext *context, int64_t size)
{
    if (size != 0) {
        return tensor_element_count(&context->inputs[0]) / size;
    }
    return context->output_count > 1 ? tensor_element_count(&context->outputs[1]) : 0;
}

static void *
output_data(const KernelContext *context, uint32_t index)
{
    return index < context->output_count ? context->outputs[index].data : NULL;
}

static Status
make_outputs(KernelContext *context)
{
    enum { OUTPUTS = 4 };
    Shape shapes[OUTPUTS];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->output_count; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, context->node->output_dtypes[index], &shapes[index], &output));
    }
    return STATUS_OK;
}

static Status
layer_norm_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int64_t size = row_size(context);
    bool has_bias = given_input(context, 2) != NULL;
    TRY(make_outputs(context));
    CudaLayerNorm norm = {.input = input->data,
        .scale = context->inputs[1].data,
        .bias = given_data(context, 2),
        .output = output_data(context, 0),
        .mean = output_data(context, 1),
        .deviation = output_data(context, 2),
        .rows = row_count(context, size),
        .size = size,
        .epsilon = node_attr_float(context->node, "epsilon")};
    if (norm.rows == 0) {
        return STATUS_OK;
    }
    TRY(check_size(context, 1, size));
    if (has_bias) {
        TRY(check_size(context, 2, size));
    }
    int error = cuda_layer_norm(cuda_type(input->dtype), &norm, cuda_stream(context));
    return cuda_check(context->call, error, "a LayerNormalization kernel");
}

/* Statistics of rows without elements. */
static Status
clear_statistics(KernelContext *context)
{
    for (uint32_t index = 1; index < context->output_count; index++) {
        const Tensor *output = &context->outputs[index];
        if (output->data != NULL) {
            int error = (int)cudaMemsetAsync(output->data, 0, tensor_byte_size(output), cuda_stream(context));
            TRY(cuda_check(context->call, error, "a fill"));
        }
    }
    return STATUS_OK;
}

/* `norm` has what the two ops differ in. */
static Status
compute_skip_norm(KernelContext *context, CudaSkipNorm norm)
{
    const Tensor *input = &context->inputs[0];
    TRY(make_outputs(context));
    if (input->data == NULL) {
        return clear_statistics(context);
    }
    norm.input = input->data;
    norm.skip = context->inputs[1].data;
    norm.gamma = context->inputs[2].data;
    norm.output = output_data(context, 0);
    norm.mean = output_data(context, 1);
    norm.deviation = output_data(context, 2);
    norm.sum = output_data(context, 3);
    norm.size = input->shape.dims[input->shape.rank - 1];
    norm.rows = tensor_element_count(input) / norm.size;
    norm.skip_rows = tensor_element_count(&context->inputs[1]) / norm.size;
    norm.epsilon = node_attr_float(context->node, "epsilon");
    int error = cuda_skip_norm(cuda_type(input->dtype), &norm, cuda_stream(context));
    return cuda_check(context->call, error, "a normalisation of a sum");
}

static Status
skip_norm_compute(KernelContext *context)
{
    return compute_skip_norm(context,
        (CudaSkipNorm){.beta = given_data(context, 3), .bias = given_data(context, 4), .has_mean = true});
}

static Status
simplified_skip_norm_compute(KernelContext *context)
{
    return compute_skip_norm(context, (CudaSkipNorm){.bias = given_data(context, 3)});
}

/* Every channel of every batch has statistics of its own. */
static Status
instance_norm_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    Lines lines = lines_along(&output->shape, 1);
    CudaInstanceNorm norm = {.input = input->data,
        .scale = context->inputs[1].data,
        .bias = context->inputs[2].data,
        .output = output->data,
        .rows = lines.outer * lines.size,
        .channels = lines.size,
        .size = lines.inner,
        .epsilon = node_attr_float(context->node, "epsilon")};
    int error = cuda_instance_norm(cuda_type(output->dtype), &norm, cuda_stream(context));
    return cuda_check(context->call, error, "an InstanceNormalization kernel");
}

enum { NORM_INPUTS = 5 }; /* x, scale, offset, mean, variance */

/* Returns whether x is floating, and all that is given for its channels is of one dtype: as x is, or float32,
 * as trained networks of 16 bits have it. */
static bool
has_norm_dtypes(const Node *node)
{
    Dtype parameters = node->input_dtypes[1];
    for (uint32_t index = 2; index < NORM_INPUTS; index++) {
        if (node->input_dtypes[index] != parameters) {
            return false;
        }
    }
    return dtype_is_floating(node->input_dtypes[0]) &&
           (parameters == node->input_dtypes[0] || parameters == DTYPE_FLOAT32);
}

static bool
batch_norm_supports(const Node *node)
{
    return has_norm_dtypes(node) && node_attr_int(node, "training_mode") == 0;
}

static bool
fused_batch_norm_supports(const Node *node)
{
    return has_norm_dtypes(node) && !node_attr_bool(node, "is_training");
}

static Status
normalize_channels(KernelContext *context, int channels, const Tensor *output)
{
    Lines lines = lines_along(&output->shape, channels);
    for (uint32_t index = 1; index < NORM_INPUTS; index++) {
        TRY(check_size(context, index, lines.size));
    }
    CudaChannelNorm norm = {.parameters = cuda_type(context->inputs[1].dtype),
        .input = context->inputs[0].data,
        .scale = context->inputs[1].data,
        .bias = context->inputs[2].data,
        .mean = context->inputs[3].data,
        .variance = context->inputs[4].data,
        .output = output->data,
        .outer = lines.outer,
        .channels = lines.size,
        .inner = lines.inner,
        .epsilon = node_attr_float(context->node, "epsilon")};
    int error = cuda_channel_norm(cuda_type(output->dtype), &norm, cuda_stream(context));
    return cuda_check(context->call, error, "a BatchNormalization kernel");
}

/* The statistics, if they are asked for, are those that were given. */
static Status
batch_norm_compute(KernelContext *context)
{
    enum { OUTPUTS = 3 };
    Shape shapes[OUTPUTS];
    TRY(output_shapes(context, shapes));
    Tensor *output = NULL;
    TRY(output_forward_shaped(context, 0, &shapes[0], &output));
    for (uint32_t index = 1; index < context->output_count; index++) {
        context->outputs[index] = tensor_ref(&context->inputs[index + 2]);
    }
    if (output->data == NULL) {
        return STATUS_OK;
    }
    return normalize_channels(context, layout_onnx_channel(context->node, output->shape.rank), output);
}

/* The statistics that were given are those of the batch too, and what the gradient wants. */
static Status
fused_batch_norm_compute(KernelContext *context)
{
    enum { OUTPUTS = 6, GIVEN_MEAN = 3, GIVEN_VARIANCE = 4 };
    Shape shapes[OUTPUTS];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 1; index < OUTPUTS - 1; index++) {
        uint32_t given = index % 2 == 1 ? GIVEN_MEAN : GIVEN_VARIANCE;
        context->outputs[index] = tensor_ref(&context->inputs[given]);
    }
    if (context->output_count == OUTPUTS) {
        Shape scalar = shape_scalar();
        Tensor *reserve = NULL;
        TRY(kernel_output(
            context, OUTPUTS - 1, context->node->output_dtypes[OUTPUTS - 1], &scalar, &reserve));
        int error = (int)cudaMemsetAsync(reserve->data, 0, tensor_byte_size(reserve), cuda_stream(context));
        TRY(cuda_check(context->call, error, "a fill"));
    }
    Tensor *output = NULL;
    TRY(output_forward_shaped(context, 0, &shapes[0], &output));
    return output->data == NULL
               ? STATUS_OK
               : normalize_channels(context, layout_channel(context->node, output->shape.rank), output);
}

#define REDUCTION_KERNEL(name, function)                                                                     \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute, .host_inputs = 1 << 1  \
    }
#define LINE_KERNEL(name, function)                                                                          \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .compute = (function), .sharing = KERNEL_FORWARDS         \
    }

#define FUSED_NORM_KERNEL(name)                                                                              \
    {                                                                                                        \
        .op = (name), .supports = fused_batch_norm_supports, .compute = fused_batch_norm_compute,            \
        .sharing = KERNEL_FORWARDS                                                                           \
    }

static const Kernel rows_kernels[] = {
    REDUCTION_KERNEL("Sum", sum),
    REDUCTION_KERNEL("Mean", mean),
    REDUCTION_KERNEL("Max", maximum),
    REDUCTION_KERNEL("Min", minimum),
    REDUCTION_KERNEL("Prod", product),
    REDUCTION_KERNEL("EuclideanNorm", norm),
    REDUCTION_KERNEL("Any", maximum),
    REDUCTION_KERNEL("All", minimum),
    REDUCTION_KERNEL("onnx::ReduceSum", sum),
    REDUCTION_KERNEL("onnx::ReduceMean", mean),
    REDUCTION_KERNEL("onnx::ReduceMax", maximum),
    REDUCTION_KERNEL("onnx::ReduceMin", minimum),
    REDUCTION_KERNEL("onnx::ReduceProd", product),
    REDUCTION_KERNEL("onnx::ReduceL1", absolute_sum),
    REDUCTION_KERNEL("onnx::ReduceL2", norm),
    REDUCTION_KERNEL("onnx::ReduceSumSquare", squares),
    REDUCTION_KERNEL("onnx::ReduceLogSum", logarithm),
    REDUCTION_KERNEL("onnx::ReduceLogSumExp", exponentials),
    LINE_KERNEL("Softmax", softmax_compute),
    LINE_KERNEL("LogSoftmax", log_softmax_compute),
    LINE_KERNEL("onnx::Softmax", onnx_softmax_compute),
    LINE_KERNEL("onnx::LogSoftmax", onnx_log_softmax_compute),
    LINE_KERNEL("onnx::Hardmax", hardmax_compute),
    LINE_KERNEL("onnx::InstanceNormalization", instance_norm_compute),
    {.op = "onnx::LayerNormalization", .supports = layer_norm_supports, .compute = layer_norm_compute},
    {.op = "com.microsoft::SkipLayerNormalization",
        .supports = supports_floats,
        .compute = skip_norm_compute},
    {.op = "com.microsoft::SkipSimplifiedLayerNormalization",
        .supports = supports_floats,
        .compute = simplified_skip_norm_compute},
    {.op = "onnx::BatchNormalization",
        .supports = batch_norm_supports,
        .compute = batch_norm_compute,
        .sharing = KERNEL_FORWARDS},
    FUSED_NORM_KERNEL("FusedBatchNorm"),
    FUSED_NORM_KERNEL("FusedBatchNormV2"),
    FUSED_NORM_KERNEL("FusedBatchNormV3"),
    {.op = "L2Loss", .supports = supports_floats, .compute = l2_loss_compute},
    {.op = "BiasAddGrad", .supports = supports_floats, .compute = bias_gradient_compute},
};

KERNEL_FAMILY(cuda_kernels, rows, rows_kernels);
