/* Functions along one dimension, by the rules of the reference kernels (shared/ops/reduce, order). */
#include "worker/cuda/kernels/lines.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static CudaAlong
lines_of(const Tensor *input, int64_t axis, const Tensor *output)
{
    Lines lines = lines_along(&input->shape, (int)(axis < 0 ? axis + input->shape.rank : axis));
    return (CudaAlong){.input = input->data,
        .output = output->data,
        .outer = lines.outer,
        .size = lines.size,
        .inner = lines.inner};
}

static bool
supports_reals(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static Status
compute_running(KernelContext *context, bool is_product, bool is_exclusive, bool is_reverse)
{
    const Tensor *input = &context->inputs[0];
    int64_t axis = 0;
    size_t count = 0;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    CudaRunning running = {.lines = lines_of(input, axis, output),
        .is_product = is_product,
        .is_exclusive = is_exclusive,
        .is_reverse = is_reverse};
    int error = cuda_running(cuda_type(input->dtype), &running, cuda_stream(context));
    return cuda_check(context->call, error, "a running sum or product");
}

static Status
compute_cumsum(KernelContext *context)
{
    return compute_running(
        context, false, node_attr_bool(context->node, "exclusive"), node_attr_bool(context->node, "reverse"));
}

static Status
compute_cumprod(KernelContext *context)
{
    return compute_running(
        context, true, node_attr_bool(context->node, "exclusive"), node_attr_bool(context->node, "reverse"));
}

static Status
compute_onnx_cumsum(KernelContext *context)
{
    return compute_running(context, false, node_attr_int(context->node, "exclusive") != 0,
        node_attr_int(context->node, "reverse") != 0);
}

static Status
compute_onnx_cumprod(KernelContext *context)
{
    return compute_running(context, true, node_attr_int(context->node, "exclusive") != 0,
        node_attr_int(context->node, "reverse") != 0);
}

static bool
supports_extremes(const Node *node)
{
    Dtype indices = node->output_dtypes[0];
    return supports_reals(node) && (indices == DTYPE_INT32 || indices == DTYPE_INT64);
}

static Status
find_extremes(KernelContext *context, int64_t axis, CudaExtremes extremes)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    extremes.lines = lines_of(input, axis, output);
    extremes.is_wide = output->dtype == DTYPE_INT64;
    int error = cuda_extremes(cuda_type(input->dtype), &extremes, cuda_stream(context));
    return cuda_check(context->call, error, "a search for extremes");
}

static Status
find_extremes_along_input(KernelContext *context, bool is_largest)
{
    int64_t axis = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    return find_extremes(context, axis, (CudaExtremes){.is_largest = is_largest});
}

static Status
compute_arg_max(KernelContext *context)
{
    return find_extremes_along_input(context, true);
}

static Status
compute_arg_min(KernelContext *context)
{
    return find_extremes_along_input(context, false);
}

static Status
compute_onnx_extremes(KernelContext *context)
{
    const Node *node = context->node;
    CudaExtremes extremes = {.is_largest = slice_equals_string(node->op->name, "onnx::ArgMax"),
        .is_last = node_attr_int(node, "select_last_index") != 0,
        .nan_is_beyond = true};
    return find_extremes(context, node_attr_int(node, "axis"), extremes);
}

static const Kernel lines_kernels[] = {
    {.op = "Cumsum", .supports = supports_reals, .compute = compute_cumsum, .host_inputs = 1 << 1},
    {.op = "Cumprod", .supports = supports_reals, .compute = compute_cumprod, .host_inputs = 1 << 1},
    {.op = "onnx::CumSum", .supports = supports_reals, .compute = compute_onnx_cumsum, .host_inputs = 1 << 1},
    {.op = "onnx::CumProd",
        .supports = supports_reals,
        .compute = compute_onnx_cumprod,
        .host_inputs = 1 << 1},
    {.op = "ArgMax", .supports = supports_extremes, .compute = compute_arg_max, .host_inputs = 1 << 1},
    {.op = "ArgMin", .supports = supports_extremes, .compute = compute_arg_min, .host_inputs = 1 << 1},
    {.op = "onnx::ArgMax", .supports = supports_extremes, .compute = compute_onnx_extremes},
    {.op = "onnx::ArgMin", .supports = supports_extremes, .compute = compute_onnx_extremes},
};

KERNEL_FAMILY(cuda_kernels, lines, lines_kernels);
