/* Choice between two tensors, limits, and conversion between dtypes. */
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/map.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

static bool
supports_choice(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[1]);
}

static Status
choose_elements(KernelContext *context, const Tensor *condition)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Tensor *inputs[] = {condition, &context->inputs[1], &context->inputs[2]};
    CudaMap map = operands_map(inputs, COUNT_OF(inputs), output);
    if (map.count == 0) {
        return STATUS_OK;
    }
    int error = cuda_choose(dtype_size(output->dtype), &map, cuda_stream(context));
    return cuda_check(context->call, error, "a choice");
}

static Status
compute_where(KernelContext *context)
{
    return choose_elements(context, &context->inputs[0]);
}

/* A vector as Select's condition picks rows: it runs along the first dimension, not the last. */
static Status
compute_select(KernelContext *context)
{
    Tensor condition = context->inputs[0];
    int rank = context->inputs[1].shape.rank;
    if (condition.shape.rank == 1 && rank > 1) {
        condition.shape.rank = rank;
        for (int index = 1; index < rank; index++) {
            condition.shape.dims[index] = 1;
        }
    }
    return choose_elements(context, &condition);
}

static bool
supports_clip(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static Status
check_limits(KernelContext *context)
{
    for (uint32_t index = 1; index < context->input_count; index++) {
        const Tensor *limit = &context->inputs[index];
        if (limit->dtype != DTYPE_INVALID && tensor_element_count(limit) != 1) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "limit %u has shape %s, not one value",
                index, shape_text(&limit->shape, text));
        }
    }
    return STATUS_OK;
}

/* ONNX's limits are scalars, and each may be absent. */
static Status
compute_clip(KernelContext *context)
{
    TRY(check_limits(context));
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    CudaMap map = {
        .inputs = {context->inputs[0].data, context->input_count > 1 ? context->inputs[1].data : NULL,
            context->input_count > 2 ? context->inputs[2].data : NULL},
        .output = output->data,
        .count = tensor_element_count(output),
    };
    if (map.count == 0) {
        return STATUS_OK;
    }
    int error = cuda_clip(cuda_type(output->dtype), &map, cuda_stream(context));
    return cuda_check(context->call, error, "a Clip kernel");
}

static bool
supports_cast(const Node *node)
{
    return cuda_type(node->input_dtypes[0]) != CUDA_INVALID &&
           cuda_type(node->output_dtypes[0]) != CUDA_INVALID;
}

static Status
compute_cast(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Dtype dtype = context->node->output_dtypes[0];
    if (input->dtype == dtype) {
        kernel_alias(context, 0, 0, &input->shape);
        return STATUS_OK;
    }
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, dtype, &input->shape, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    int error = cuda_convert(cuda_type(input->dtype), input->data, cuda_type(dtype), output->data,
        tensor_element_count(input), cuda_stream(context));
    return cuda_check(context->call, error, "a Cast kernel");
}

static const Kernel choose_kernels[] = {
    {.op = "Select", .supports = supports_choice, .compute = compute_select},
    {.op = "SelectV2", .supports = supports_choice, .compute = compute_where},
    {.op = "onnx::Where", .supports = supports_choice, .compute = compute_where},
    {.op = "onnx::Clip", .supports = supports_clip, .compute = compute_clip, .sharing = KERNEL_FORWARDS},
    {.op = "Cast", .supports = supports_cast, .compute = compute_cast, .sharing = KERNEL_PASSES},
    {.op = "onnx::Cast", .supports = supports_cast, .compute = compute_cast, .sharing = KERNEL_PASSES},
    {.op = "onnx::CastLike", .supports = supports_cast, .compute = compute_cast, .sharing = KERNEL_PASSES},
};

KERNEL_FAMILY(cuda_kernels, choose, choose_kernels);
