/* ONNX's CausalConvWithState, by the rules of the reference kernel (shared/ops/convolution). */
#include "worker/cuda/kernels/causal.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

enum { BIAS = 2, PAST = 3 };

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
compute_causal(KernelContext *context)
{
    const Tensor *inputs = context->inputs;
    const Shape *shape = &inputs[0].shape;
    Shape shapes[2];
    Tensor *output = NULL;
    Tensor *state = NULL;
    TRY(output_shapes(context, shapes));
    TRY(kernel_output(context, 0, inputs[0].dtype, &shapes[0], &output));
    TRY(kernel_output(context, 1, inputs[0].dtype, &shapes[1], &state));
    if (tensor_element_count(output) == 0 && tensor_element_count(state) == 0) {
        return STATUS_OK; /* the other dimensions may be of any size */
    }
    CudaCausal causal = {
        .input = inputs[0].data,
        .weight = inputs[1].data,
        .bias = given_data(context, BIAS),
        .past = given_data(context, PAST),
        .output = output->data,
        .state = state->data,
        .lines = shape->dims[0] * shape->dims[1],
        .channels = shape->dims[1],
        .length = shape->dims[2],
        .kept = inputs[1].shape.dims[2] - 1,
        .is_activated = !slice_equals_string(node_attr_string(context->node, "activation"), "none"),
    };
    int error = cuda_causal(cuda_type(output->dtype), &causal, cuda_stream(context));
    return cuda_check(context->call, error, "a causal convolution");
}

static const Kernel causal_kernels[] = {
    {.op = "onnx::CausalConvWithState", .supports = supports_floats, .compute = compute_causal},
};

KERNEL_FAMILY(cuda_kernels, causal, causal_kernels);
