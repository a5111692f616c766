/* Products of vectors of three elements. The op's own rule checks shapes. */
#include "worker/cuda/kernels/cross.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

static bool
supports_numbers(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static Status
compute_cross(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    CudaCross cross = {
        .left = context->inputs[0].data,
        .right = context->inputs[1].data,
        .product = output->data,
        .count = tensor_element_count(output),
    };
    int error = cuda_cross(cuda_type(output->dtype), &cross, cuda_stream(context));
    return cuda_check(context->call, error, "a Cross kernel");
}

static const Kernel cross_kernels[] = {
    {.op = "Cross", .supports = supports_numbers, .compute = compute_cross},
};

KERNEL_FAMILY(cuda_kernels, cross, cross_kernels);
