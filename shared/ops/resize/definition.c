/* ONNX's Resize, in all its forms; TensorFlow's are in the family image. */
#include "shared/ops/family.h"
#include "shared/ops/resize/rule.h"

static Status
infer_onnx_resize(Call *call, InferContext *context)
{
    ResizePlan plan;
    TRY(resize_read(call, context, &plan));
    context->outputs[0] = plan.output;
    return STATUS_OK;
}

static const OpDefinition resize_ops[] = {
    OP("onnx::Resize(X:T1, roi?:T2, scales?:float, sizes?:int64)->(Y:T1) {antialias:int=0, "
       "axes:list(int)=[], "
       "coordinate_transformation_mode:string=half_pixel, cubic_coeff_a:float=-0.75, exclude_outside:int=0, "
       "extrapolation_value:float=0, keep_aspect_ratio_policy:string=stretch, mode:string=nearest, "
       "nearest_mode:string=round_prefer_floor, T1:type, T2:type}",
        0, infer_onnx_resize),
};

OP_FAMILY(resize, resize_ops);
