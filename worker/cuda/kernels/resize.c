/* Images resized and cropped, by the rules of the reference kernels (shared/ops/image). */
#include "worker/cuda/kernels/resize.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/resize.h"

static bool
supports_reals(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static bool
supports_float_gradient(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static CudaSide
read_side(const KernelContext *context, int64_t input, int64_t output)
{
    ResizedSide side = resized_side(context->node, input, output);
    return (CudaSide){.input = side.input,
        .output = side.output,
        .factor = side.factor,
        .aligns_corners = side.aligns_corners,
        .is_half_pixel = side.is_half_pixel};
}

/* Makes the output. `is_gradient`: the images are the output, and what they were resized to is the input. */
static Status
begin(KernelContext *context, bool is_gradient, CudaResize *ret_resize)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Shape *images = is_gradient ? &output->shape : &input->shape;
    const Shape *resized = is_gradient ? &input->shape : &output->shape;
    *ret_resize = (CudaResize){.from = input->data,
        .to = output->data,
        .count = tensor_element_count(output),
        .channels = images->dims[3],
        .rows = read_side(context, images->dims[1], resized->dims[1]),
        .columns = read_side(context, images->dims[2], resized->dims[2])};
    return STATUS_OK;
}

static Status
compute_bilinear(KernelContext *context)
{
    CudaResize resize;
    TRY(begin(context, false, &resize));
    int error = cuda_resize_bilinear(cuda_type(context->inputs[0].dtype), &resize, cuda_stream(context));
    return cuda_check(context->call, error, "a ResizeBilinear kernel");
}

static Status
compute_nearest(KernelContext *context)
{
    CudaResize resize;
    TRY(begin(context, false, &resize));
    int error = cuda_resize_nearest(dtype_size(context->inputs[0].dtype), &resize, cuda_stream(context));
    return cuda_check(context->call, error, "a ResizeNearestNeighbor kernel");
}

static Status
compute_bilinear_gradient(KernelContext *context)
{
    CudaResize resize;
    TRY(begin(context, true, &resize));
    int error = cuda_resize_bilinear_gradient(
        cuda_type(context->node->output_dtypes[0]), &resize, cuda_stream(context));
    return cuda_check(context->call, error, "a ResizeBilinearGrad kernel");
}

static Status
compute_nearest_gradient(KernelContext *context)
{
    CudaResize resize;
    TRY(begin(context, true, &resize));
    int error =
        cuda_resize_nearest_gradient(cuda_type(context->inputs[0].dtype), &resize, cuda_stream(context));
    return cuda_check(context->call, error, "a ResizeNearestNeighborGrad kernel");
}

static Status
compute_crop(KernelContext *context)
{
    const Tensor *images = &context->inputs[0];
    const Node *node = context->node;
    Tensor *output = NULL;
    CudaBlame blame;
    TRY(output_new(context, &output));
    TRY(cuda_blame(context, CUDA_REFUSES_BOX, &blame));
    CudaCrop crop = {.images = images->data,
        .boxes = context->inputs[1].data,
        .image_of = context->inputs[2].data,
        .crops = output->data,
        .count = tensor_element_count(output),
        .channels = images->shape.dims[3],
        .image_count = images->shape.dims[0],
        .image_rows = images->shape.dims[1],
        .image_columns = images->shape.dims[2],
        .crop_rows = output->shape.dims[1],
        .crop_columns = output->shape.dims[2],
        .is_nearest = slice_equal(node_attr_string(node, "method"), SLICE("nearest")),
        .outside = node_attr_float(node, "extrapolation_value")};
    int error = cuda_crop(cuda_type(images->dtype), &crop, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a CropAndResize kernel");
}

enum { SIZES_ON_HOST = 1 << 1, CROP_SIZES_ON_HOST = 1 << 3 };

static const Kernel resize_kernels[] = {
    {.op = "ResizeBilinear",
        .supports = supports_reals,
        .compute = compute_bilinear,
        .host_inputs = SIZES_ON_HOST},
    {.op = "ResizeNearestNeighbor",
        .supports = supports_reals,
        .compute = compute_nearest,
        .host_inputs = SIZES_ON_HOST},
    {.op = "ResizeBilinearGrad", .supports = supports_float_gradient, .compute = compute_bilinear_gradient},
    {.op = "ResizeNearestNeighborGrad",
        .supports = supports_reals,
        .compute = compute_nearest_gradient,
        .host_inputs = SIZES_ON_HOST},
    {.op = "CropAndResize",
        .supports = supports_reals,
        .compute = compute_crop,
        .host_inputs = CROP_SIZES_ON_HOST},
};

KERNEL_FAMILY(cuda_kernels, resize, resize_kernels);
