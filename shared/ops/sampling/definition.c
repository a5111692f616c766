/* Images sampled at positions that another input gives: ONNX's GridSample and RoiAlign. */
#include "shared/ops/family.h"
#include "shared/ops/sampling/rule.h"

/* X [batch, channel, space…], grid [batch, positions…, dimensions of space]. */
static Status
infer_grid_sample(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    int64_t same = 0;
    Shape grid;
    if (input->rank < 0) {
        return STATUS_OK;
    }
    int space = input->rank - 2;
    if (space < 1 || space > SAMPLE_SPACE_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d has no 1 to %d spatial dimensions",
            input->rank, SAMPLE_SPACE_MAX);
    }
    TRY(infer_rank(call, context, 1, input->rank, &grid));
    TRY(infer_equal(call, grid.dims[space + 1], space, "the number of coordinates", &same));
    Shape output = {.rank = 2};
    TRY(infer_equal(call, input->dims[0], grid.dims[0], "the batch", &output.dims[0]));
    output.dims[1] = input->dims[1];
    TRY(infer_append(call, &grid, 1, space + 1, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

/* X [batch, channel, height, width], rois [n, 4], batch_indices [n]. */
static Status
infer_roi_align(Call *call, InferContext *context)
{
    Shape input;
    Shape rois;
    Shape indices;
    int64_t same = 0;
    int64_t count = 0;
    int64_t height = node_attr_int(context->node, "output_height");
    int64_t width = node_attr_int(context->node, "output_width");
    TRY(infer_rank(call, context, 0, 4, &input));
    TRY(infer_rank(call, context, 1, 2, &rois));
    TRY(infer_rank(call, context, 2, 1, &indices));
    TRY(infer_equal(call, rois.dims[1], 4, "the number of a region's coordinates", &same));
    TRY(infer_equal(call, rois.dims[0], indices.dims[0], "the number of regions", &count));
    if (height < 1 || width < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output is %lld by %lld, not at least 1",
            (long long)height, (long long)width);
    }
    context->outputs[0] = (Shape){.rank = 4, .dims = {count, input.dims[1], height, width}};
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition sampling_ops[] = {
    OP("onnx::GridSample(X:T1, grid:T2)->(Y:T1) {align_corners:int=0, mode:string=linear, "
       "padding_mode:string=zeros, T1:type, T2:type}",
        0, infer_grid_sample),
    OP("onnx::RoiAlign(X:T1, rois:T1, batch_indices:int64)->(Y:T1) "
       "{coordinate_transformation_mode:string=half_pixel, mode:string=avg, output_height:int=1, "
       "output_width:int=1, sampling_ratio:int=0, spatial_scale:float=1, T1:type}",
        0, infer_roi_align),
};

OP_FAMILY(sampling, sampling_ops);
