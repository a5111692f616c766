/* Products of matrices. */
#include "worker/reference/broadcast.h"
#include "worker/reference/elements.h"
#include "worker/reference/epilogue.h"
#include "worker/reference/matrix.h"
#include "worker/reference/outputs.h"

static bool
matmul_supports(const Node *node)
{
    return matrix_supports(node->input_dtypes[0]);
}

/* Complex matrices are not supported: adj_x would have to conjugate them. */
static bool
batch_matmul_supports(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
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

static bool
fused_matmul_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && epilogue_supports(node);
}

static Status
fused_matmul_compute(KernelContext *context)
{
    TRY(matmul_compute(context));
    return epilogue_finish(context, context->outputs[0].shape.rank - 1);
}

static Status
fused_batch_matmul_compute(KernelContext *context)
{
    TRY(batch_matmul_compute(context));
    return epilogue_finish(context, context->outputs[0].shape.rank - 1);
}

/* Views a vector as a matrix: a row on the left, a column on the right. */
static Tensor
as_matrix(const Tensor *tensor, bool is_left)
{
    Tensor matrix = *tensor;
    if (tensor->shape.rank == 1) {
        matrix.shape.rank = 2;
        matrix.shape.dims[is_left ? 0 : 1] = 1;
        matrix.shape.dims[is_left ? 1 : 0] = tensor->shape.dims[0];
    }
    return matrix;
}

static Status
onnx_matmul_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Tensor a = as_matrix(&context->inputs[0], true);
    Tensor b = as_matrix(&context->inputs[1], false);
    Tensor product = *output;
    int columns = b.shape.rank - 1;
    if (context->inputs[0].shape.rank == 1 || context->inputs[1].shape.rank == 1) {
        product.shape = a.shape.rank > b.shape.rank ? a.shape : b.shape;
        product.shape.dims[product.shape.rank - 2] = a.shape.dims[a.shape.rank - 2];
        product.shape.dims[product.shape.rank - 1] = b.shape.dims[columns];
    }
    matrix_multiply(&a, false, &b, false, &product);
    return STATUS_OK;
}

#define SCALE_LOOP(name, unused, upper, lower, storage, compute, read, write)                                \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *y = run->inputs[1];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            double product = (double)read(x[n * run->strides[0]]) * (double)run->parameters[0];              \
            double added =                                                                                   \
                y == NULL ? 0 : (double)read(y[n * run->strides[1]]) * (double)run->parameters[1];           \
            z[n] = write((compute)(product + added));                                                        \
        }                                                                                                    \
    }

FLOATING_ELEMENTS(SCALE_LOOP, scale, )
static const ElementLoop scale_loops[DTYPE_COUNT] = {FLOATING_LOOPS(scale)};

static bool
gemm_supports(const Node *node)
{
    return scale_loops[node->input_dtypes[0]] != NULL;
}

static Status
gemm_compute(KernelContext *context)
{
    const Node *node = context->node;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    matrix_multiply(&context->inputs[0], node_attr_int(node, "transA") != 0, &context->inputs[1],
        node_attr_int(node, "transB") != 0, output);
    bool has_addend = context->input_count > 2 && context->inputs[2].dtype != DTYPE_INVALID;
    const float factors[] = {node_attr_float(node, "alpha"), node_attr_float(node, "beta")};
    const Tensor *inputs[] = {output, has_addend ? &context->inputs[2] : output};
    const float without[] = {factors[0], 0};
    broadcast_run(
        inputs, has_addend ? 2 : 1, output, has_addend ? factors : without, scale_loops[output->dtype]);
    return STATUS_OK;
}

static const Kernel matmul_kernels[] = {
    {.op = "MatMul", .supports = matmul_supports, .compute = matmul_compute},
    {.op = "BatchMatMul", .supports = batch_matmul_supports, .compute = batch_matmul_compute},
    {.op = "BatchMatMulV2", .supports = batch_matmul_supports, .compute = batch_matmul_compute},
    {.op = "_FusedMatMul",
        .supports = fused_matmul_supports,
        .compute = fused_matmul_compute,
        .wide_inputs = ~3U,
        .wide_outputs = 1},
    {.op = "_FusedBatchMatMulV2",
        .supports = fused_matmul_supports,
        .compute = fused_batch_matmul_compute,
        .wide_inputs = ~3U,
        .wide_outputs = 1},
    {.op = "onnx::MatMul", .supports = matmul_supports, .compute = onnx_matmul_compute},
    {.op = "onnx::Gemm", .supports = gemm_supports, .compute = gemm_compute},
};

KERNEL_FAMILY(reference, matmul, matmul_kernels);
