/* onnx::GridSample, by the rule of the reference kernel (shared/ops/sampling). */
#include "worker/cuda/kernels/sampling.h"

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

typedef struct SamplingName {
    const char *name;
    int value;
} SamplingName;

static const SamplingName modes[] = {
    {"nearest", CUDA_SAMPLE_NEAREST},
    {"linear", CUDA_SAMPLE_LINEAR},
    {"cubic", CUDA_SAMPLE_CUBIC},
};

static const SamplingName paddings[] = {
    {"zeros", CUDA_SAMPLE_ZEROS},
    {"border", CUDA_SAMPLE_BORDER},
    {"reflection", CUDA_SAMPLE_REFLECTION},
};

static Status
read_name(const KernelContext *context, const char *attribute, const SamplingName *names, int *ret_value)
{
    Slice given = node_attr_string(context->node, attribute);
    for (size_t index = 0; index < COUNT_OF(modes); index++) {
        if (slice_equals_string(given, names[index].name)) {
            *ret_value = names[index].value;
            return STATUS_OK;
        }
    }
    return call_fail(
        context->call, STATUS_INVALID_ARGUMENT, "there is no %s '%.*s'", attribute, SLICE_PRINT(given));
}

static Status
read_attributes(const KernelContext *context, CudaSampling *sampling)
{
    int mode = 0;
    int padding = 0;
    TRY(read_name(context, "mode", modes, &mode));
    TRY(read_name(context, "padding_mode", paddings, &padding));
    sampling->mode = (CudaSampleMode)mode;
    sampling->padding = (CudaSamplePadding)padding;
    sampling->aligns_corners = node_attr_int(context->node, "align_corners") != 0;
    return STATUS_OK;
}

static void
read_shapes(const Shape *input, const Tensor *output, CudaSampling *sampling)
{
    sampling->space = input->rank - 2;
    sampling->channels = input->dims[1];
    sampling->plane = 1;
    sampling->positions = 1;
    sampling->count = tensor_element_count(output);
    for (int dimension = sampling->space - 1; dimension >= 0; dimension--) {
        sampling->size[dimension] = input->dims[2 + dimension];
        sampling->stride[dimension] = sampling->plane;
        sampling->plane *= input->dims[2 + dimension];
        sampling->positions *= output->shape.dims[2 + dimension];
    }
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
    CudaSampling sampling = {0};
    AUTO_TENSOR grid = {0};
    Tensor *output = NULL;
    TRY(output_shapes(context, &shape));
    TRY(read_attributes(context, &sampling));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    read_shapes(&context->inputs[0].shape, output, &sampling);
    if (sampling.count > 0 && sampling.plane == 0) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "an image without elements is sampled");
    }
    TRY(widen_grid(context, &grid));
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
