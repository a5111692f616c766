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

/* Makes the output of what the band keeps of the input's matrices. */
static Status
keep_band(KernelContext *context, int64_t lower, int64_t upper, const Tensor *output)
{
    const Tensor *input = &context->inputs[0];
    CudaBand band = {.from = input->data,
        .to = output->data,
        .count = tensor_element_count(output),
        .rows = input->shape.dims[input->shape.rank - 2],
        .columns = input->shape.dims[input->shape.rank - 1],
        .lower = lower,
        .upper = upper};
    int error = cuda_band(dtype_size(input->dtype), &band, cuda_stream(context));
    return cuda_check(context->call, error, "a band of matrices");
}

static Status
compute_band(KernelContext *context)
{
    Tensor *output = NULL;
    Band read;
    TRY(output_new(context, &output));
    TRY(band_read(context, &read));
    return keep_band(
        context, read.lower < 0 ? INT64_MAX : read.lower, read.upper < 0 ? INT64_MAX : read.upper, output);
}

/* A triangle begins or ends at diagonal `k`, which counts from the main one to the right. */
static Status
compute_triangle(KernelContext *context)
{
    int64_t k = 0;
    size_t count = 0;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (context->input_count > 1 && context->inputs[1].dtype != DTYPE_INVALID) {
        TRY(kernel_input_ints(context, 1, &k, 1, &count));
    }
    bool is_upper = node_attr_int(context->node, "upper") != 0;
    int64_t lower = k == INT64_MIN ? INT64_MAX : -k;
    return keep_band(context, is_upper ? lower : INT64_MAX, is_upper ? INT64_MAX : k, output);
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
    {.op = "onnx::Trilu", .supports = supports_copyable, .compute = compute_triangle, .host_inputs = 1 << 1},
};

KERNEL_FAMILY(cuda_kernels, border, border_kernels);
