/* Pools of TensorFlow and ONNX. The ops' own rules check shapes. */
#include "worker/cuda/kernels/pooling.h"

#include "shared/ops/pooling/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/window.h"
#include "worker/reference/outputs.h"

typedef Status (*ReadPooling)(Call *call, const InferContext *context, Pooling *ret_pooling);
typedef int (*RunPool)(CudaType type, const CudaPool *pool, cudaStream_t stream);

static bool
is_set(const Node *node, const char *name)
{
    return node_attr(node, name) != NULL && node_attr_int(node, name) != 0;
}

static Status
compute_pool(KernelContext *context, ReadPooling read, RunPool run)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    Pooling pooling;
    kernel_inference(context, NULL, &inference);
    TRY(read(context->call, &inference.context, &pooling));
    Tensor *output = NULL;
    Tensor *indices = NULL;
    TRY(kernel_output(context, 0, input->dtype, &pooling.output, &output));
    if (context->output_count > 1) {
        TRY(kernel_output(context, 1, DTYPE_INT64, &pooling.output, &indices));
    }
    if (output->data == NULL) {
        return STATUS_OK;
    }
    CudaPool pool = {
        .window = operands_window(&pooling.window, &input->shape, &output->shape),
        .input = input->data,
        .output = output->data,
        .indices = indices == NULL ? NULL : indices->data,
        .is_column_major = is_set(context->node, "storage_order"),
        .counts_padding = is_set(context->node, "count_include_pad"),
        .p = is_set(context->node, "p") ? node_attr_int(context->node, "p") : 0,
    };
    pool.plane = pool.window.input.channel;
    return cuda_check(context->call, run(cuda_type(input->dtype), &pool, cuda_stream(context)), "a pool");
}

static bool
supports_numbers(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* The kernel function of a pool: the rule that reads its windows, and what becomes of their values. */
#define POOL(name, reader, run)                                                                              \
    static Status name(KernelContext *context)                                                               \
    {                                                                                                        \
        return compute_pool(context, reader, run);                                                           \
    }

POOL(max_pool, pooling_tensorflow, cuda_pool_largest)
POOL(mean_pool, pooling_tensorflow, cuda_pool_mean)
POOL(onnx_max_pool, pooling_onnx, cuda_pool_largest)
POOL(onnx_mean_pool, pooling_onnx, cuda_pool_mean)
POOL(global_max_pool, pooling_global, cuda_pool_largest)
POOL(global_mean_pool, pooling_global, cuda_pool_mean)
POOL(norm_pool, pooling_onnx, cuda_pool_norm)
POOL(global_norm_pool, pooling_global, cuda_pool_norm)

static const Kernel pooling_kernels[] = {
    {.op = "MaxPool", .supports = supports_numbers, .compute = max_pool},
    {.op = "AvgPool", .supports = supports_floats, .compute = mean_pool},
    {.op = "MaxPool3D", .supports = supports_numbers, .compute = max_pool},
    {.op = "AvgPool3D", .supports = supports_floats, .compute = mean_pool},
    {.op = "onnx::MaxPool", .supports = supports_numbers, .compute = onnx_max_pool},
    {.op = "onnx::AveragePool", .supports = supports_floats, .compute = onnx_mean_pool},
    {.op = "onnx::GlobalMaxPool", .supports = supports_numbers, .compute = global_max_pool},
    {.op = "onnx::GlobalAveragePool", .supports = supports_floats, .compute = global_mean_pool},
    {.op = "onnx::LpPool", .supports = supports_floats, .compute = norm_pool},
    {.op = "onnx::GlobalLpPool", .supports = supports_floats, .compute = global_norm_pool},
};

KERNEL_FAMILY(cuda_kernels, pooling, pooling_kernels);
