/* onnx::Col2Im, by the rule of the reference kernel (shared/ops/image). */
#include "worker/cuda/kernels/columns.h"

#include "shared/ops/image/columns_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/operands/window.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[COLUMNS_INPUT]);
}

static Status
compute_columns(KernelContext *context)
{
    KernelInference inference;
    Columns read;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(columns_read(context->call, &inference.context, &read));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &read.image, &output));
    Shape places = window_output(&read.window, &read.image, read.image.dims[1]);
    CudaColumns columns = {
        .window = operands_window(&read.window, &read.image, &places),
        .input = context->inputs[COLUMNS_INPUT].data,
        .output = output->data,
        .count = tensor_element_count(output),
        .pixels = 1,
        .elements = read.blocks == 0 ? 0 : read.elements, /* a block that lies nowhere may have any size */
        .blocks = read.blocks,
    };
    for (int dimension = 2; dimension < read.image.rank; dimension++) {
        columns.pixels *= read.image.dims[dimension];
    }
    int error = cuda_columns_to_image(cuda_type(output->dtype), &columns, cuda_stream(context));
    return cuda_check(context->call, error, "a Col2Im kernel");
}

static const Kernel columns_kernels[] = {
    {.op = "onnx::Col2Im",
        .supports = supports_floats,
        .compute = compute_columns,
        .host_inputs = 1 << COLUMNS_IMAGE_SHAPE | 1 << COLUMNS_BLOCK_SHAPE},
};

KERNEL_FAMILY(cuda_kernels, columns, columns_kernels);
