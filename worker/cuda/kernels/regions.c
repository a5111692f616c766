/* onnx::RoiAlign, by the rules of the reference kernel (shared/ops/sampling). */
#include "worker/cuda/kernels/regions.h"

#include "shared/ops/sampling/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
enqueue(KernelContext *context, const CudaRegions *regions)
{
    CudaBlame image_blame;
    TRY(cuda_blame(context, CUDA_REFUSES_REGION, &image_blame));
    image_blame.width = CUDA_REGION_WIDTH;
    CudaBlame corner_blame = image_blame;
    corner_blame.reason = CUDA_REFUSES_SIDE;
    int error = cuda_align_regions(
        cuda_type(context->inputs[0].dtype), regions, &image_blame, &corner_blame, cuda_stream(context));
    return cuda_check(context->call, error, "a RoiAlign kernel");
}

static Status
compute_regions(KernelContext *context)
{
    const Shape *images = &context->inputs[0].shape;
    RoiAlign align;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(roi_align_read(context->call, context->node, images, &output->shape, &align));
    CudaRegions regions = {
        .images = context->inputs[0].data,
        .corners = context->inputs[1].data,
        .images_of = context->inputs[2].data,
        .output = output->data,
        .region_count = output->shape.dims[0],
        .image_count = images->dims[0],
        .channels = images->dims[1],
        .height = images->dims[2],
        .width = images->dims[3],
        .rows = output->shape.dims[2],
        .columns = output->shape.dims[3],
        .ratio = align.ratio,
        .scale = align.scale,
        .coordinate_max = ROI_COORDINATE_MAX,
        .is_half_pixel = align.is_half_pixel,
        .is_largest = align.is_largest,
    };
    return enqueue(context, &regions);
}

static const Kernel regions_kernels[] = {
    {.op = "onnx::RoiAlign", .supports = supports_floats, .compute = compute_regions},
};

KERNEL_FAMILY(cuda_kernels, regions, regions_kernels);
