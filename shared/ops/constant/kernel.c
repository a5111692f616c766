/* Sources of tensors, and ops that pass them on. */
#include "worker/reference/elements.h"
#include "worker/reference/fill.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static Status
const_compute(KernelContext *context)
{
    context->outputs[0] = tensor_ref(node_attr_tensor(context->node, "value"));
    return STATUS_OK;
}

/* A placeholder is computed only when it was not fed. */
static Status
placeholder_compute(KernelContext *context)
{
    return call_fail(context->call, STATUS_INVALID_ARGUMENT, "a value must be fed for the placeholder '%.*s'",
        SLICE_PRINT(context->node->name));
}

static Status
no_op_compute(KernelContext *context)
{
    (void)context;
    return STATUS_OK;
}

static Status
identity_compute(KernelContext *context)
{
    for (uint32_t index = 0; index < context->output_count; index++) {
        kernel_alias(context, index, index, &context->inputs[index].shape);
    }
    return STATUS_OK;
}

static Status
placeholder_with_default_compute(KernelContext *context)
{
    KernelInference inference;
    Shape declared; /* the shapes a feed may have; the rule has checked that the default is one of them */
    kernel_inference(context, &declared, &inference);
    TRY(context->node->op->infer_shapes(context->call, &inference.context));
    kernel_alias(context, 0, 0, &context->inputs[0].shape);
    return STATUS_OK;
}

/* Nothing is dropped outside of training, which is not supported. */
static Status
dropout_compute(KernelContext *context)
{
    const Tensor *training = context->input_count > 2 ? &context->inputs[2] : NULL;
    if (training != NULL && training->data != NULL && *(const uint8_t *)training->data != 0) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "dropping out in training is not implemented");
    }
    Tensor *mask = NULL;
    TRY(kernel_output(context, 1, DTYPE_BOOL, &context->inputs[0].shape, &mask));
    fill_number(mask, 1);
    kernel_alias(context, 0, 0, &context->inputs[0].shape);
    return STATUS_OK;
}

static bool
like_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static Status
zeros_like_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    return move_zeros_into(context, output);
}

static Status
ones_like_compute(KernelContext *context)
{
    Tensor *output = NULL;
    _Alignas(16) unsigned char one[16];
    Tensor scalar = {.dtype = context->inputs[0].dtype, .shape = shape_scalar(), .data = one};
    TRY(output_new(context, &output));
    fill_number(&scalar, 1);
    return move_element_into(context, output, one);
}

#define FINITE_LOOP(name, unused, upper, lower, storage, compute, read, write)                               \
    static bool name##_##lower(const Tensor *tensor)                                                         \
    {                                                                                                        \
        const storage *x = tensor->data;                                                                     \
        int64_t count = tensor_element_count(tensor);                                                        \
        for (int64_t n = 0; n < count; n++) {                                                                \
            compute a = read(x[n]);                                                                          \
            if (a - a != 0) {                                                                                \
                return false;                                                                                \
            }                                                                                                \
        }                                                                                                    \
        return true;                                                                                         \
    }

FLOATING_ELEMENTS(FINITE_LOOP, is_finite, )
static bool (*const is_finite_loops[DTYPE_COUNT])(const Tensor *tensor) = {FLOATING_LOOPS(is_finite)};

static bool
check_numerics_supports(const Node *node)
{
    return is_finite_loops[node->input_dtypes[0]] != NULL;
}

static Status
check_numerics_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    if (!is_finite_loops[input->dtype](input)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%.*s: the tensor has infinities or NaN",
            SLICE_PRINT(node_attr_string(context->node, "message")));
    }
    kernel_alias(context, 0, 0, &input->shape);
    return STATUS_OK;
}

#define PASSES_ON .any_inputs = UINT32_MAX, .is_cheap = true, .sharing = KERNEL_PASSES

static const Kernel constant_kernels[] = {
    {.op = "Const", .compute = const_compute, .is_cheap = true, .sharing = KERNEL_LENDS},
    {.op = "Placeholder", .compute = placeholder_compute, .is_cheap = true},
    {.op = "PlaceholderV2", .compute = placeholder_compute, .is_cheap = true},
    {.op = "PlaceholderWithDefault", .compute = placeholder_with_default_compute, PASSES_ON},
    {.op = "NoOp", .compute = no_op_compute, .is_cheap = true},
    {.op = "Identity", .compute = identity_compute, PASSES_ON},
    {.op = "onnx::Identity", .compute = identity_compute, PASSES_ON},
    {.op = "onnx::Dropout", .compute = dropout_compute, .host_inputs = 1 << 2, PASSES_ON},
    {.op = "IdentityN", .compute = identity_compute, PASSES_ON},
    {.op = "onnx::_Outputs2", .compute = identity_compute, PASSES_ON},
    {.op = "onnx::_Outputs3", .compute = identity_compute, PASSES_ON},
    {.op = "Snapshot", .compute = identity_compute, PASSES_ON},
    {.op = "StopGradient", .compute = identity_compute, PASSES_ON},
    {.op = "PreventGradient", .compute = identity_compute, PASSES_ON},
    {.op = "CheckNumerics",
        .supports = check_numerics_supports,
        .compute = check_numerics_compute,
        .sharing = KERNEL_PASSES},
    {.op = "ZerosLike", .supports = like_supports, .compute = zeros_like_compute},
    {.op = "OnesLike", .supports = like_supports, .compute = ones_like_compute},
};

KERNEL_FAMILY(reference, constant, constant_kernels);
