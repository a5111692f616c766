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

static Status
check_channels(KernelContext *context, int rank_min)
{
    int rank = context->inputs[0].shape.rank;
    if (rank < rank_min) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "an input of rank %d has no channels", rank);
    }
    return STATUS_OK;
}

static void
set_lines(CudaResponse *response, const Shape *shape, int axis)
{
    Lines lines = lines_along(shape, axis);
    response->outer = lines.outer;
    response->size = lines.size;
    response->inner = lines.inner;
}

/* Fills in the lines along the channels, and launches. */
static Status
run_response(KernelContext *context, CudaResponse *response, int axis)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, input->dtype, &input->shape, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    set_lines(response, &input->shape, axis);
    int error =
        cuda_response(cuda_type(input->dtype), response, input->data, output->data, cuda_stream(context));
    return cuda_check(context->call, error, "a local response normalisation");
}

/* Reads the attributes that TensorFlow's op and its gradient share. */
static Status
read_response(const KernelContext *context, CudaResponse *ret_response)
{
    const Node *node = context->node;
    const Shape *shape = &context->inputs[0].shape;
    int64_t radius = 0;
    TRY(response_radius(context->call, context->node, shape->dims[shape->rank - 1], &radius));
    *ret_response = (CudaResponse){
        .before = radius,
        .after = radius,
        .bias = (double)node_attr_float(node, "bias"),
        .alpha = (double)node_attr_float(node, "alpha"),
        .beta = (double)node_attr_float(node, "beta"),
    };
    return STATUS_OK;
}

static Status
lrn_compute(KernelContext *context)
{
    CudaResponse response;
    TRY(check_channels(context, 1));
    TRY(read_response(context, &response));
    return run_response(context, &response, context->inputs[0].shape.rank - 1);
}

static Status
lrn_gradient_compute(KernelContext *context)
{
    const Tensor *in = context->inputs;
    CudaResponseGradient gradient = {.gradients = in[0].data, .input = in[1].data, .output = in[2].data};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(read_response(context, &gradient.response));
    set_lines(&gradient.response, &output->shape, output->shape.rank - 1);
    gradient.result = output->data;
    int error = cuda_response_gradient(cuda_type(output->dtype), &gradient, cuda_stream(context));
    return cuda_check(context->call, error, "the gradient of a local response normalisation");
}

/* ONNX divides alpha by the size of the region. */
static Status
onnx_lrn_compute(KernelContext *context)
{
    const Node *node = context->node;
    TRY(check_channels(context, 2));
    int64_t size = node_attr_int(node, "size");
    if (size < 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "size is %lld", (long long)size);
    }
    CudaResponse response = {
        .before = (size - 1) / 2,
        .after = size - 1 - (size - 1) / 2,
        .bias = (double)node_attr_float(node, "bias"),
        .alpha = (double)node_attr_float(node, "alpha") / (double)size,
        .beta = (double)node_attr_float(node, "beta"),
    };
    return run_response(context, &response, 1);
}

static const Kernel response_kernels[] = {
    {.op = "LRN", .supports = supports_floats, .compute = lrn_compute},
    {.op = "LRNGrad", .supports = supports_floats, .compute = lrn_gradient_compute},
    {.op = "onnx::LRN", .supports = supports_floats, .compute = onnx_lrn_compute},
};

KERNEL_FAMILY(cuda_kernels, response, response_kernels);
