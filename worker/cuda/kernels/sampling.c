/* onnx::GridSample, by the rule of the reference kernel (shared/ops/sampling). */
#include "worker/cuda/kernels/sampling.h"

#include "shared/ops/sampling/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && dtype_is_floating(node->input_dtypes[1]);
}

_Static_assert((int)CUDA_SAMPLE_NEAREST == SAMPLE_NEAREST && (int)CUDA_SAMPLE_LINEAR == SAMPLE_LINEAR &&
                   (int)CUDA_SAMPLE_CUBIC == SAMPLE_CUBIC && (int)CUDA_SAMPLE_ZEROS == SAMPLE_ZEROS &&
                   (int)CUDA_SAMPLE_BORDER == SAMPLE_BORDER &&
                   (int)CUDA_SAMPLE_REFLECTION == SAMPLE_REFLECTION &&
                   (int)CUDA_SAMPLE_SPACE_MAX == SAMPLE_SPACE_MAX,
    "both sides count modes, paddings and dimensions alike");

static CudaSampling
sampling_of(const GridSample *sample)
{
    CudaSampling sampling = {.mode = (CudaSampleMode)sample->mode,
        .padding = (CudaSamplePadding)sample->padding,
        .aligns_corners = sample->aligns_corners,
        .space = sample->space,
        .plane = sample->plane,
        .channels = sample->channels,
        .positions = sample->positions};
    memcpy(sampling.size, sample->size, sizeof sampling.size);
    memcpy(sampling.stride, sample->stride, sizeof sampling.stride);
    return sampling;
}

/* Makes the coordinates in double. */
static Status
widen_grid(KernelContext *context, Tensor *ret_grid)
{
    const Tensor *grid = &context->inputs[1];
    TRY(scratch_new(context, DTYPE_FLOAT64, &grid->shape, ret_grid));
    int64_t count = tensor_element_count(grid);
    int error = count == 0 ? 0
                           : cuda_convert(cuda_type(grid->dtype), grid->data, CUDA_FLOAT64, ret_grid->data,
                                 count, cuda_stream(context));
    return cuda_check(context->call, error, "a conversion");
}

static Status
compute_grid_sample(KernelContext *context)
{
    Shape shape;
    GridSample sample;
    AUTO_TENSOR grid = {0};
    Tensor *output = NULL;
    TRY(output_shapes(context, &shape));
    TRY(grid_sample_read(context->call, context->node, &context->inputs[0].shape, &shape, &sample));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    TRY(widen_grid(context, &grid));
    CudaSampling sampling = sampling_of(&sample);
    sampling.count = tensor_element_count(output);
    sampling.input = context->inputs[0].data;
    sampling.grid = grid.data;
    sampling.output = output->data;
    int error = cuda_sample(cuda_type(output->dtype), &sampling, cuda_stream(context));
    return cuda_check(context->call, error, "a GridSample kernel");
}

static const Kernel sampling_kernels[] = {
    {.op = "onnx::GridSample", .supports = supports_floats, .compute = compute_grid_sample},
};

KERNEL_FAMILY(cuda_kernels, sampling, sampling_kernels);
