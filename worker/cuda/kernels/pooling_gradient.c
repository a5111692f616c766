/* Gradients of TensorFlow's pools. The ops' own rules check shapes. */
#include "shared/ops/pooling/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/pooling.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/window.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static bool
supports_one_dtype(const Node *node)
{
    return supports_floats(node) && node->input_dtypes[0] == node->output_dtypes[0];
}

/* Makes room for what is noted of each window. */
static Status
make_room(KernelContext *context, CudaPoolShare share, const Tensor *gradients, Tensor *ret_room)
{
    switch (share) {
    case CUDA_POOL_FIRST_LARGEST:
        return scratch_new(context, DTYPE_INT64, &gradients->shape, ret_room);
    case CUDA_POOL_EVERY_LARGEST:
        return scratch_new(context, gradients->dtype, &gradients->shape, ret_room);
    case CUDA_POOL_EVENLY:
        break;
    }
    return STATUS_OK;
}

static Status
compute_gradient(KernelContext *context, CudaPoolShare share)
{
    const Tensor *gradients = &context->inputs[context->input_count - 1];
    KernelInference inference;
    Pooling pooling;
    Shape shape;
    Tensor *output = NULL;
    AUTO_TENSOR largest = {0};
    kernel_inference(context, NULL, &inference);
    TRY(pooling_gradient(context->call, &inference.context, &pooling, &shape));
    TRY(kernel_output(context, 0, gradients->dtype, &shape, &output));
    TRY(make_room(context, share, gradients, &largest));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaPoolGradient gradient = {
        .window = operands_window(&pooling.window, &shape, &gradients->shape),
        .image = context->inputs[0].data,
        .gradients = gradients->data,
        .largest = largest.data,
        .output = output->data,
    };
    int error = cuda_pool_gradient(share, cuda_type(gradients->dtype), &gradient, cuda_stream(context));
    return cuda_check(context->call, error, "the gradient of a pool");
}

static Status
max_compute(KernelContext *context)
{
    return compute_gradient(context, CUDA_POOL_FIRST_LARGEST);
}

static Status
max_volume_compute(KernelContext *context)
{
    return compute_gradient(context, CUDA_POOL_EVERY_LARGEST);
}

static Status
mean_compute(KernelContext *context)
{
    return compute_gradient(context, CUDA_POOL_EVENLY);
}

static const Kernel pooling_gradient_kernels[] = {
    {.op = "MaxPoolGrad", .supports = supports_one_dtype, .compute = max_compute},
    {.op = "MaxPool3DGrad", .supports = supports_one_dtype, .compute = max_volume_compute},
    {.op = "AvgPoolGrad", .supports = supports_floats, .compute = mean_compute, .host_inputs = 1},
    {.op = "AvgPool3DGrad", .supports = supports_floats, .compute = mean_compute, .host_inputs = 1},
};

KERNEL_FAMILY(cuda_kernels, pooling_gradient, pooling_gradient_kernels);
