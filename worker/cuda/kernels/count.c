/* Elements counted and ranked, by the rules of the reference kernels (shared/ops/count). */
#include "worker/cuda/kernels/count.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_places(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]);
}

static Status
compute_inverse(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    AUTO_TENSOR firsts = {0};
    Tensor *output = NULL;
    CudaBlame blame;
    TRY(output_new(context, &output));
    TRY(scratch_new(context, DTYPE_INT64, &input->shape, &firsts));
    TRY(cuda_blame(context, CUDA_REFUSES_PERMUTATION, &blame));
    CudaPermutation permutation = {
        .places = {.data = input->data, .type = cuda_type(input->dtype)},
        .inverse = output->data,
        .count = tensor_element_count(input),
        .firsts = firsts.data,
    };
    int error = cuda_invert(&permutation, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "an InvertPermutation kernel");
}

/* Bins are counted by atomic additions, which narrower integers do not have. */
static bool
supports_bins(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return (dtype_is_floating(dtype) || dtype_is_integer(dtype)) &&
           (node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64);
}

static Status
compute_histogram(KernelContext *context)
{
    const Tensor *values = &context->inputs[0];
    Tensor *output = NULL;
    CudaBlame blame;
    TRY(output_new(context, &output));
    TRY(cuda_blame(context, CUDA_REFUSES_RANGE, &blame));
    cudaStream_t stream = cuda_stream(context);
    TRY(cuda_check(context->call, (int)cudaMemsetAsync(output->data, 0, tensor_byte_size(output), stream),
        "clearing a histogram"));
    CudaHistogram histogram = {
        .values = values->data,
        .ends = context->inputs[1].data,
        .count = tensor_element_count(values),
        .bins = output->data,
        .bin_count = tensor_element_count(output),
        .is_wide = output->dtype == DTYPE_INT64,
    };
    int error = cuda_histogram(cuda_type(values->dtype), &histogram, &blame, stream);
    return cuda_check(context->call, error, "a HistogramFixedWidth kernel");
}

static const Kernel count_kernels[] = {
    {.op = "InvertPermutation", .supports = supports_places, .compute = compute_inverse},
    {.op = "HistogramFixedWidth",
        .supports = supports_bins,
        .compute = compute_histogram,
        .host_inputs = 1 << 2},
};

KERNEL_FAMILY(cuda_kernels, count, count_kernels);
