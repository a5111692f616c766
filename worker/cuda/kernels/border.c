/* Borders that repeat the tensor's own elements, and bands of matrices, by the rules of the reference kernels
 * (shared/ops/pad, diagonal). Borders of one value are moves (movement.c). */
#include "worker/cuda/kernels/border.h"

#include <assert.h>
#include <string.h>

#include "shared/ops/pad/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/reference/band.h"
#include "worker/reference/outputs.h"
#include "worker/reference/strided_copy.h"

_Static_assert((int)CUDA_BORDER_RANK_MAX == (int)SHAPE_RANK_MAX, "a border holds every shape");

static const CudaBorderMode border_modes[] = {
    [PADDING_REFLECT] = CUDA_BORDER_REFLECT,
    [PADDING_SYMMETRIC] = CUDA_BORDER_SYMMETRIC,
    [PADDING_EDGE] = CUDA_BORDER_EDGE,
    [PADDING_WRAP] = CUDA_BORDER_WRAP,
};

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static bool
supports_border(const Node *node)
{
    return supports_copyable(node) && !slice_equal(node_attr_string(node, "mode"), SLICE("constant"));
}

static Status
compute_border(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    PaddingPlan plan;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(padding_read(context->call, &inference.context, &plan));
    assert(plan.mode != PADDING_CONSTANT);
    TRY(kernel_output(context, 0, input->dtype, &plan.output, &output));
    CudaBorder border = {.from = input->data,
        .to = output->data,
        .count = tensor_element_count(output),
        .mode = border_modes[plan.mode],
        .rank = output->shape.rank};
    size_t size = (size_t)border.rank * sizeof border.sizes[0];
    memcpy(border.sizes, output->shape.dims, size);
    memcpy(border.before, plan.before, size);
    memcpy(border.inner, input->shape.dims, size);
    strides_dense(&input->shape, border.strides);
    int error = cuda_border(dtype_size(input->dtype), &border, cuda_stream(context));
    return cuda_check(context->call, error, "a Pad kernel");
}

static Status
compute_band(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Band read;
    TRY(band_read(context, &read));
    CudaBand band = {.from = input->data,
        .to = output->data,
        .count = tensor_element_count(output),
        .rows = read.rows,
        .columns = read.columns,
        .lower = read.lower,
        .upper = read.upper};
    int error = cuda_band(dtype_size(input->dtype), &band, cuda_stream(context));
    return cuda_check(context->call, error, "a MatrixBandPart kernel");
}

enum { AMOUNTS_ON_HOST = 1 << 1 | 1 << 3, WIDTHS_ON_HOST = 1 << 1 | 1 << 2 };

static const Kernel border_kernels[] = {
    {.op = "MirrorPad",
        .supports = supports_border,
        .compute = compute_border,
        .host_inputs = AMOUNTS_ON_HOST},
    {.op = "onnx::Pad",
        .supports = supports_border,
        .compute = compute_border,
        .host_inputs = AMOUNTS_ON_HOST},
    {.op = "MatrixBandPart",
        .supports = supports_copyable,
        .compute = compute_band,
        .host_inputs = WIDTHS_ON_HOST},
};

KERNEL_FAMILY(cuda_kernels, border, border_kernels);
