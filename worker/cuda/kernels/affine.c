/* onnx::AffineGrid. The op's own rule checks shapes. */
#include "worker/cuda/kernels/affine.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
compute_affine_grid(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    CudaAffineGrid grid = {
        .matrices = context->inputs[0].data,
        .grid = output->data,
        .count = tensor_element_count(output),
        .points = 1,
        .space = output->shape.rank - 2,
        .aligns_corners = node_attr_int(context->node, "align_corners") != 0,
    };
    for (int dimension = 0; dimension < grid.space; dimension++) {
        grid.size[dimension] = output->shape.dims[grid.space - dimension];
        grid.points *= grid.size[dimension];
    }
    int error = cuda_affine_grid(cuda_type(output->dtype), &grid, cuda_stream(context));
    return cuda_check(context->call, error, "an AffineGrid kernel");
}

static const Kernel affine_kernels[] = {
    {.op = "onnx::AffineGrid",
        .supports = supports_floats,
        .compute = compute_affine_grid,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(cuda_kernels, affine, affine_kernels);
