/* Choice between two tensors, limits, and conversion between dtypes. What broadcasts as NumPy does may be
 * fused with its neighbours. */
#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/fused.h"
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

/* Makes the state by which the node becomes a step of a fused kernel. */
static Status
create_step(Call *call, CudaMapFunction function, CudaShapeRule rule, void **ret_state)
{
    CudaFunction *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a kernel");
    }
    state->function = function;
    state->rule = rule;
    *ret_state = state;
    return STATUS_OK;
}

static Status
create_choice(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    return create_step(call, CUDA_STEP_CHOOSE, CUDA_SHAPES_BROADCAST, ret_state);
}

static Status
create_clip(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    return create_step(call, CUDA_MAP_CLIP, CUDA_SHAPES_OF_LIMITS, ret_state);
}

static Status
create_cast(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    return create_step(call, CUDA_STEP_CONVERT, CUDA_SHAPES_BROADCAST, ret_state);
}

static bool
may_fuse_choice(const Node *node)
{
    return cuda_type(node->input_dtypes[1]) != CUDA_INVALID;
}

/* An absent limit is no operand. */
static bool
may_fuse_clip(const Node *node)
{
    return node->input_count == CUDA_MAP_INPUTS_MAX;
}

static bool
may_fuse_cast(const Node *node)
{
    return node->input_count == 1;
}

#define FUSION(name)                                                                                         \
    static const KernelFusion name##_fusion = {                                                              \
        .may_join = may_fuse_##name,                                                                         \
        .create = cuda_fused_create,                                                                         \
        .destroy = cuda_fused_destroy,                                                                       \
        .compute = cuda_fused_compute,                                                                       \
    };

FUSION(choice)
FUSION(clip)
FUSION(cast)

#define FUSED(name) .create = create_##name, .destroy = memory_free, .fusion = &name##_fusion

static const Kernel choose_kernels[] = {
    {.op = "Select", .supports = supports_choice, .compute = compute_select},
    {.op = "SelectV2", .supports = supports_choice, .compute = compute_where, FUSED(choice)},
    {.op = "onnx::Where", .supports = supports_choice, .compute = compute_where, FUSED(choice)},
    {.op = "onnx::Clip",
        .supports = supports_clip,
        .compute = compute_clip,
        .sharing = KERNEL_FORWARDS,
        FUSED(clip)},
    {.op = "Cast", .supports = supports_cast, .compute = compute_cast, .sharing = KERNEL_PASSES, FUSED(cast)},
    {.op = "onnx::Cast",
        .supports = supports_cast,
        .compute = compute_cast,
        .sharing = KERNEL_PASSES,
        FUSED(cast)},
    {.op = "onnx::CastLike", .supports = supports_cast, .compute = compute_cast, .sharing = KERNEL_PASSES},
};

KERNEL_FAMILY(cuda_kernels, choose, choose_kernels);
