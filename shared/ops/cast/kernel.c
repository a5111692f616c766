/* Conversion between dtypes. */
#include "worker/reference/cast.h"
#include "worker/reference/outputs.h"

static bool
supports_cast(const Node *node)
{
    Dtype from = node->input_dtypes[0];
    Dtype to = node->output_dtypes[0];
    return from == to || cast_supports(from, to);
}

static Status
compute_cast(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    if (input->dtype == context->node->output_dtypes[0]) {
        kernel_alias(context, 0, 0, &input->shape);
        return STATUS_OK;
    }
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &input->shape, &output));
    cast_tensor(input, output);
    return STATUS_OK;
}

/* The loop knows its dtypes as its parameters. */
static void
cast_loop(const ElementRun *run)
{
    cast_elements(
        (Dtype)run->parameters[0], run->inputs[0], (Dtype)run->parameters[1], run->output, run->count);
}

static bool
describe_cast(const Node *node, ElementFunction *ret_function)
{
    Dtype from = node->input_dtypes[0];
    Dtype to = node->output_dtypes[0];
    *ret_function = (ElementFunction){.loop = cast_loop, .parameters = {(float)from, (float)to}};
    return from != to;
}

static bool
bitcast_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]) && dtype_is_copyable(node->output_dtypes[0]) &&
           node->input_dtypes[0] != DTYPE_BOOL && node->output_dtypes[0] != DTYPE_BOOL;
}

/* Bytes that are read as bool may be any. */
static bool
onnx_bitcast_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]) && dtype_is_copyable(node->output_dtypes[0]) &&
           (node->output_dtypes[0] != DTYPE_BOOL || node->input_dtypes[0] == DTYPE_BOOL);
}

static Status
bitcast_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    kernel_alias(context, 0, 0, &shape);
    context->outputs[0].dtype = context->node->output_dtypes[0];
    return STATUS_OK;
}

/* The bytes stay where they lie, in any memory. */
#define PASSES_ON .any_inputs = 1, .is_cheap = true, .sharing = KERNEL_PASSES

static const Kernel cast_kernels[] = {
    {.op = "Cast",
        .supports = supports_cast,
        .compute = compute_cast,
        .element = describe_cast,
        .sharing = KERNEL_PASSES},
    {.op = "onnx::Cast",
        .supports = supports_cast,
        .compute = compute_cast,
        .element = describe_cast,
        .sharing = KERNEL_PASSES},
    {.op = "onnx::CastLike", .supports = supports_cast, .compute = compute_cast, .sharing = KERNEL_PASSES},
    {.op = "onnx::BitCast", .supports = onnx_bitcast_supports, .compute = bitcast_compute, PASSES_ON},
    {.op = "Bitcast", .supports = bitcast_supports, .compute = bitcast_compute, PASSES_ON},
};

KERNEL_FAMILY(reference, cast, cast_kernels);
