/* Local response normalisation of TensorFlow, over the last dimension, and of ONNX, over the second. */
#include "worker/cuda/kernels/response.h"

#include "shared/ops/normalization/response_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* Describes the lines along the channels of a tensor of this shape. */
static CudaResponse
response_of(const ResponseRule *rule, const Shape *shape)
{
    Lines lines = lines_along(shape, rule->axis);
    return (CudaResponse){
        .outer = lines.outer,
        .size = lines.size,
        .inner = lines.inner,
        .before = rule->before,
        .after = rule->after,
        .bias = rule->bias,
        .alpha = rule->alpha,
        .beta = rule->beta,
    };
}

static Status
run_response(KernelContext *context, const ResponseRule *rule)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, input->dtype, &input->shape, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaResponse response = response_of(rule, &input->shape);
    int error =
        cuda_response(cuda_type(input->dtype), &response, input->data, output->data, cuda_stream(context));
    return cuda_check(context->call, error, "a local response normalisation");
}

static Status
lrn_compute(KernelContext *context)
{
    ResponseRule rule;
    TRY(response_rule(context->call, context->node, &context->inputs[0].shape, &rule));
    return run_response(context, &rule);
}

static Status
lrn_gradient_compute(KernelContext *context)
{
    const Tensor *in = context->inputs;
    ResponseRule rule;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(response_rule(context->call, context->node, &in[0].shape, &rule));
    CudaResponseGradient gradient = {
        .response = response_of(&rule, &output->shape),
        .gradients = in[0].data,
        .input = in[1].data,
        .output = in[2].data,
        .result = output->data,
    };
    int error = cuda_response_gradient(cuda_type(output->dtype), &gradient, cuda_stream(context));
    return cuda_check(context->call, error, "the gradient of a local response normalisation");
}

static const Kernel response_kernels[] = {
    {.op = "LRN", .supports = supports_floats, .compute = lrn_compute},
    {.op = "LRNGrad", .supports = supports_floats, .compute = lrn_gradient_compute},
    {.op = "onnx::LRN", .supports = supports_floats, .compute = lrn_compute},
};

KERNEL_FAMILY(cuda_kernels, response, response_kernels);
