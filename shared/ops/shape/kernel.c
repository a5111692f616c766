/* Shapes of tensors, and the same elements under another shape. */
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static void
write_int(Tensor *tensor, int64_t index, int64_t value)
{
    if (tensor->dtype == DTYPE_INT64) {
        ((int64_t *)tensor->data)[index] = value;
    } else {
        ((int32_t *)tensor->data)[index] = (int32_t)value;
    }
}

static bool
writes_ints(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64;
}

/* A number too large for int32 is an error, as in TensorFlow. */
static Status
check_int(KernelContext *context, int64_t value)
{
    if (context->node->output_dtypes[0] == DTYPE_INT32 && value > INT32_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld does not fit int32", (long long)value);
    }
    return STATUS_OK;
}

/* Writes `count` dimensions of an input from `first` on. */
static Status
write_dimensions(KernelContext *context, uint32_t index, int first, int64_t count)
{
    Shape shape = shape_vector(count);
    Tensor *output = NULL;
    TRY(kernel_output(context, index, context->node->output_dtypes[index], &shape, &output));
    for (int64_t dimension = 0; dimension < count; dimension++) {
        int64_t size = context->inputs[index].shape.dims[first + dimension];
        TRY(check_int(context, size));
        write_int(output, dimension, size);
    }
    return STATUS_OK;
}

static Status
shape_compute(KernelContext *context)
{
    for (uint32_t index = 0; index < context->output_count; index++) {
        TRY(write_dimensions(context, index, 0, context->inputs[index].shape.rank));
    }
    return STATUS_OK;
}

static Status
onnx_shape_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    int rank = context->inputs[0].shape.rank;
    int64_t start = node_attr_int(context->node, "start");
    int64_t first = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
    return write_dimensions(context, 0, (int)first, shape.dims[0]);
}

static Status
write_scalar(KernelContext *context, int64_t value)
{
    Shape shape = shape_scalar();
    Tensor *output = NULL;
    TRY(check_int(context, value));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    write_int(output, 0, value);
    return STATUS_OK;
}

static Status
size_compute(KernelContext *context)
{
    return write_scalar(context, tensor_element_count(&context->inputs[0]));
}

static Status
rank_compute(KernelContext *context)
{
    return write_scalar(context, context->inputs[0].shape.rank);
}

/* The shape rule tells everything. */
static Status
reshape_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    kernel_alias(context, 0, 0, &shape);
    return STATUS_OK;
}

static bool
broadcast_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static Status
broadcast_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&input->shape, strides);
    StridedCopy copy = {.rank = output->shape.rank};
    strides_dense(&output->shape, copy.to);
    for (int dimension = 0; dimension < copy.rank; dimension++) {
        int own = dimension - (copy.rank - input->shape.rank);
        copy.dims[dimension] = output->shape.dims[dimension];
        copy.from[dimension] = own < 0 || input->shape.dims[own] == 1 ? 0 : strides[own];
    }
    TRY(move_elements(context, &copy, input, output));
    return STATUS_OK;
}

enum { TARGET_ON_HOST = 1 << 1 };

#define PASSES_ON .any_inputs = 1, .is_cheap = true, .sharing = KERNEL_PASSES
#define TELLS_SHAPES .any_inputs = UINT32_MAX, .host_outputs = UINT32_MAX, .is_cheap = true

static const Kernel shape_kernels[] = {
    {.op = "Shape", .supports = writes_ints, .compute = shape_compute, TELLS_SHAPES},
    {.op = "ShapeN", .supports = writes_ints, .compute = shape_compute, TELLS_SHAPES},
    {.op = "Size", .supports = writes_ints, .compute = size_compute, TELLS_SHAPES},
    {.op = "Rank", .compute = rank_compute, TELLS_SHAPES},
    {.op = "Reshape", .compute = reshape_compute, .host_inputs = TARGET_ON_HOST, PASSES_ON},
    {.op = "Squeeze", .compute = reshape_compute, PASSES_ON},
    {.op = "ExpandDims", .compute = reshape_compute, .host_inputs = TARGET_ON_HOST, PASSES_ON},
    {.op = "EnsureShape", .compute = reshape_compute, PASSES_ON},
    {.op = "BroadcastTo",
        .supports = broadcast_supports,
        .compute = broadcast_compute,
        .host_inputs = TARGET_ON_HOST},
    {.op = "onnx::Shape", .compute = onnx_shape_compute, TELLS_SHAPES},
    {.op = "onnx::Size", .compute = size_compute, TELLS_SHAPES},
    {.op = "onnx::Reshape", .compute = reshape_compute, .host_inputs = TARGET_ON_HOST, PASSES_ON},
    {.op = "onnx::Squeeze", .compute = reshape_compute, .host_inputs = TARGET_ON_HOST, PASSES_ON},
    {.op = "onnx::Unsqueeze", .compute = reshape_compute, .host_inputs = TARGET_ON_HOST, PASSES_ON},
    {.op = "onnx::Flatten", .compute = reshape_compute, PASSES_ON},
    {.op = "onnx::Expand",
        .supports = broadcast_supports,
        .compute = broadcast_compute,
        .host_inputs = TARGET_ON_HOST},
    MOVED_STRINGS("BroadcastTo", first),
    MOVED_STRINGS("onnx::Expand", first),
};

KERNEL_FAMILY(reference, shape, shape_kernels);
