/* ONNX's quantised numbers. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The elements, their one scale and their one zero point. */
static Status
infer_dynamic(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    context->outputs[1] = shape_scalar();
    context->outputs[2] = shape_scalar();
    return STATUS_OK;
}

static const OpDefinition quantize_ops[] = {
    OP("onnx::QuantizeLinear(x:T1, y_scale:T2, y_zero_point?:T3)->(y:T3) {axis:int=1, block_size:int=0, "
       "output_dtype:type, precision:int=0, saturate:int=1, T1:type, T2:type, T3:type}",
        0, infer_unchanged),
    OP("onnx::DequantizeLinear(x:T1, x_scale:T2, x_zero_point?:T1)->(y:T2) {axis:int=1, block_size:int=0, "
       "output_dtype:type, T1:type, T2:type}",
        0, infer_unchanged),
    OP("onnx::DynamicQuantizeLinear(x:float)->(y:uint8, y_scale:float, y_zero_point:uint8) {}", 0,
        infer_dynamic),
};

OP_FAMILY(quantize, quantize_ops);
