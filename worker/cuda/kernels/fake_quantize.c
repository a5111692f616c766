/* TensorFlow's numbers rounded as a quantised tensor would hold them, by the rules of the reference kernels
 * (shared/ops/quantize). Limits that are tensors stay on the card, and are refused there. */
#include "worker/cuda/kernels/fake_quantize.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"

static bool
supports_bits(const Node *node)
{
    int64_t bits = node_attr_int(node, "num_bits");
    return bits >= 2 && bits <= 16;
}

/* Describes the steps between limits that lie in inputs 1 and 2, or that attributes give. */
static CudaFakeQuantised
describe(const KernelContext *context, bool has_attributes, int64_t channels)
{
    const Node *node = context->node;
    return (CudaFakeQuantised){
        .input = context->inputs[0].data,
        .count = tensor_element_count(&context->inputs[0]),
        .channels = channels,
        .lowest = has_attributes ? NULL : context->inputs[1].data,
        .highest = has_attributes ? NULL : context->inputs[2].data,
        .low = has_attributes ? node_attr_float(node, "min") : 0,
        .high = has_attributes ? node_attr_float(node, "max") : 0,
        .first = node_attr_bool(node, "narrow_range") ? 1 : 0,
        .last = (float)(((int64_t)1 << node_attr_int(node, "num_bits")) - 1),
    };
}

static Status
enqueue(KernelContext *context, CudaFakeQuantised *quantised)
{
    CudaBlame blame;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(cuda_blame(context, CUDA_REFUSES_LIMITS, &blame));
    quantised->output = output->data;
    int error = cuda_fake_quantize(quantised, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a kernel of quantised steps");
}

/* Describes the steps between limits that attributes give, which the host checks. */
static Status
describe_args(const KernelContext *context, CudaFakeQuantised *ret_quantised)
{
    CudaFakeQuantised quantised = describe(context, true, 1);
    if (!(quantised.low < quantised.high) && (quantised.low != 0 || quantised.high != 0)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the lower limit %g is not below the upper one, %g", (double)quantised.low,
            (double)quantised.high);
    }
    *ret_quantised = quantised;
    return STATUS_OK;
}

static Status
compute_args(KernelContext *context)
{
    CudaFakeQuantised quantised;
    TRY(describe_args(context, &quantised));
    return enqueue(context, &quantised);
}

static Status
compute_args_gradient(KernelContext *context)
{
    const Tensor *in = context->inputs;
    CudaFakeQuantised quantised;
    TRY(describe_args(context, &quantised));
    if (!shape_equal(&in[0].shape, &in[1].shape)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "gradients and inputs have two shapes");
    }
    quantised.gradients = in[0].data;
    quantised.input = in[1].data;
    return enqueue(context, &quantised);
}

static Status
compute_vars(KernelContext *context)
{
    CudaFakeQuantised quantised = describe(context, false, 1);
    return enqueue(context, &quantised);
}

static Status
compute_channels(KernelContext *context)
{
    CudaFakeQuantised quantised = describe(context, false, tensor_element_count(&context->inputs[1]));
    return enqueue(context, &quantised);
}

static const Kernel fake_quantize_kernels[] = {
    {.op = "FakeQuantWithMinMaxArgs", .supports = supports_bits, .compute = compute_args},
    {.op = "FakeQuantWithMinMaxArgsGradient", .supports = supports_bits, .compute = compute_args_gradient},
    {.op = "FakeQuantWithMinMaxVars", .supports = supports_bits, .compute = compute_vars},
    {.op = "FakeQuantWithMinMaxVarsPerChannel", .supports = supports_bits, .compute = compute_channels},
};

KERNEL_FAMILY(cuda_kernels, fake_quantize, fake_quantize_kernels);
