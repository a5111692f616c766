/* Products of matrices. */
#include "worker/reference/primitives/matrix.h"
#include "worker/reference/primitives/outputs.h"

static bool
matmul_supports(const Node *node)
{
    return matrix_supports(node->input_dtypes[0]);
}

/* Complex matrices would have to be conjugated too (adj_x): not offered. */
static bool
batch_matmul_supports(const Node *node)
{
    const Dtype dtype = node->input_dtypes[0];
    return matrix_supports(dtype) && dtype != DTYPE_COMPLEX64 && dtype != DTYPE_COMPLEX128;
}

static Status
matmul_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    matrix_multiply(&context->inputs[0], node_attr_bool(context->node, "transpose_a"), &context->inputs[1],
        node_attr_bool(context->node, "transpose_b"), output);
    return STATUS_OK;
}

static Status
batch_matmul_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    matrix_multiply(&context->inputs[0], node_attr_bool(context->node, "adj_x"), &context->inputs[1],
        node_attr_bool(context->node, "adj_y"), output);
    return STATUS_OK;
}

static const Kernel matmul_kernels[] = {
    {.op = "MatMul", .supports = matmul_supports, .compute = matmul_compute},
    {.op = "BatchMatMul", .supports = batch_matmul_supports, .compute = batch_matmul_compute},
    {.op = "BatchMatMulV2", .supports = batch_matmul_supports, .compute = batch_matmul_compute},
};

KERNEL_FAMILY(reference, matmul, matmul_kernels);
