/* ONNX's convolutions of integers: sums as they are, or with scales. */
#include "shared/ops/convolution.h"
#include "shared/ops/family.h"

static Status
infer_integer_conv(Call *call, InferContext *context)
{
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    Convolution convolution;
    TRY(convolution_onnx_integer(call, context, &convolution));
    context->outputs[0] = convolution.output;
    return STATUS_OK;
}

#define CONV_ATTRIBUTES                                                                                      \
    "auto_pad:string=NOTSET, dilations:list(int)=[], group:int=1, kernel_shape:list(int)=[], "               \
    "pads:list(int)=[], strides:list(int)=[], "

static const OpDefinition integer_ops[] = {
    OP("onnx::ConvInteger(x:T1, w:T2, x_zero_point?:T1, w_zero_point?:T2)->(y:int32) {" CONV_ATTRIBUTES
       "T1:type, T2:type}",
        0, infer_integer_conv),
    OP("onnx::QLinearConv(x:T1, x_scale:float, x_zero_point:T1, w:T2, w_scale:float, w_zero_point:T2, "
       "y_scale:float, y_zero_point:T3, B?:int32)->(y:T3) {" CONV_ATTRIBUTES "T1:type, T2:type, T3:type}",
        0, infer_integer_conv),
};

OP_FAMILY(convolution_integer, integer_ops);
