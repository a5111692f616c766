/* Convolutions, their fused forms and their gradients. */
#include "shared/ops/convolution.h"
#include "shared/ops/epilogue.h"
#include "shared/ops/family.h"

static Status
infer_conv2d(Call *call, InferContext *context)
{
    Convolution convolution;
    TRY(convolution_tensorflow(call, context, 2, &convolution));
    context->outputs[0] = convolution.output;
    return STATUS_OK;
}

static Status
infer_conv3d(Call *call, InferContext *context)
{
    Convolution convolution;
    TRY(convolution_tensorflow(call, context, 3, &convolution));
    context->outputs[0] = convolution.output;
    return STATUS_OK;
}

static Status
infer_onnx_conv(Call *call, InferContext *context)
{
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    Convolution convolution;
    TRY(convolution_onnx(call, context, &convolution));
    context->outputs[0] = convolution.output;
    return STATUS_OK;
}

static Status
infer_onnx_conv_transpose(Call *call, InferContext *context)
{
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    Convolution convolution;
    TRY(convolution_onnx_transposed(call, context, &convolution));
    context->outputs[0] = convolution.output;
    return STATUS_OK;
}

/* Conv2D's layout of filters is the only one. */
static Status
infer_fused_conv2d(Call *call, InferContext *context)
{
    Convolution convolution;
    const AttrValue *format = node_attr(context->node, "filter_format");
    if (format != NULL && !slice_equals_string(format->value.s, "HWIO")) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "filter_format '%.*s'", SLICE_PRINT(format->value.s));
    }
    TRY(convolution_tensorflow(call, context, 2, &convolution));
    context->outputs[0] = convolution.output;
    return epilogue_check(call, context, &convolution.output, convolution.window.channel);
}

static Status
infer_fused_onnx_conv(Call *call, InferContext *context)
{
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    Convolution convolution;
    TRY(convolution_onnx(call, context, &convolution));
    context->outputs[0] = convolution.output;
    return epilogue_check(call, context, &convolution.output, convolution.window.channel);
}

static int
spatial_rank(const Node *node)
{
    return slice_starts_with(node->op->name, SLICE("Conv3D")) ? 3 : 2;
}

static Status
infer_backprop_input(Call *call, InferContext *context)
{
    Convolution convolution;
    return convolution_backprop_input(
        call, context, spatial_rank(context->node), &convolution, &context->outputs[0]);
}

static Status
infer_backprop_filter(Call *call, InferContext *context)
{
    Convolution convolution;
    return convolution_backprop_filter(
        call, context, spatial_rank(context->node), &convolution, &context->outputs[0]);
}

#define CONV2D_ATTRIBUTES                                                                                    \
    "{T:type, strides:list(int), use_cudnn_on_gpu:bool=true, padding:string, "                               \
    "explicit_paddings:list(int)=[], data_format:string=NHWC, dilations:list(int)=[1,1,1,1]}"
#define DEPTHWISE_ATTRIBUTES                                                                                 \
    "{T:type, strides:list(int), padding:string, explicit_paddings:list(int)=[], data_format:string=NHWC, "  \
    "dilations:list(int)=[1,1,1,1]}"

#define FUSED_DEPTHWISE                                                                                      \
    "(input:T, filter:T, args:num_args*T)->(output:T) {T:type, num_args:int, strides:list(int), "            \
    "padding:string, explicit_paddings:list(int)=[], data_format:string=NHWC, "                              \
    "dilations:list(int)=[1,1,1,1], " EPILOGUE_ATTRIBUTES "}"

static const OpDefinition convolution_ops[] = {
    OP("Conv2D(input:T, filter:T)->(output:T) " CONV2D_ATTRIBUTES, 0, infer_conv2d),
    OP("Conv3D(input:T, filter:T)->(output:T) {T:type, strides:list(int), padding:string, "
       "data_format:string=NDHWC, dilations:list(int)=[1,1,1,1,1]}",
        0, infer_conv3d),
    OP("DepthwiseConv2dNative(input:T, filter:T)->(output:T) " DEPTHWISE_ATTRIBUTES, 0, infer_conv2d),
    OP("Conv2DBackpropInput(input_sizes:int32, filter:T, out_backprop:T)->(output:T) " CONV2D_ATTRIBUTES, 0,
        infer_backprop_input),
    OP("Conv2DBackpropFilter(input:T, filter_sizes:int32, out_backprop:T)->(output:T) " CONV2D_ATTRIBUTES, 0,
        infer_backprop_filter),
    OP("DepthwiseConv2dNativeBackpropInput(input_sizes:int32, filter:T, "
       "out_backprop:T)->(output:T) " DEPTHWISE_ATTRIBUTES,
        0, infer_backprop_input),
    OP("DepthwiseConv2dNativeBackpropFilter(input:T, filter_sizes:int32, "
       "out_backprop:T)->(output:T) " DEPTHWISE_ATTRIBUTES,
        0, infer_backprop_filter),
    OP("Conv3DBackpropInputV2(input_sizes:Tshape, filter:T, out_backprop:T)->(output:T) {T:type, "
       "strides:list(int), padding:string, data_format:string=NDHWC, dilations:list(int)=[1,1,1,1,1], "
       "Tshape:type=DT_INT32}",
        0, infer_backprop_input),
    OP("Conv3DBackpropFilterV2(input:T, filter_sizes:int32, out_backprop:T)->(output:T) {T:type, "
       "strides:list(int), padding:string, data_format:string=NDHWC, dilations:list(int)=[1,1,1,1,1]}",
        0, infer_backprop_filter),
    OP("onnx::Conv(X:T, W:T, B?:T)->(Y:T) {auto_pad:string=NOTSET, dilations:list(int)=[], group:int=1, "
       "kernel_shape:list(int)=[], pads:list(int)=[], strides:list(int)=[], T:type}",
        0, infer_onnx_conv),
    OP("onnx::ConvTranspose(X:T, W:T, B?:T)->(Y:T) {auto_pad:string=NOTSET, dilations:list(int)=[], "
       "group:int=1, "
       "kernel_shape:list(int)=[], output_padding:list(int)=[], output_shape:list(int)=[], "
       "pads:list(int)=[], "
       "strides:list(int)=[], T:type}",
        0, infer_onnx_conv_transpose),
    OP("_FusedConv2D(input:T, filter:T, args:num_args*T)->(output:T) {T:type, TArgs:list(type)=[], "
       "num_args:int, num_host_args:int=0, strides:list(int), padding:string, "
       "explicit_paddings:list(int)=[], data_format:string=NHWC, filter_format:string=HWIO, "
       "dilations:list(int)=[1,1,1,1], use_cudnn_on_gpu:bool=true, " EPILOGUE_ATTRIBUTES "}",
        0, infer_fused_conv2d),
    OP("_FusedDepthwiseConv2dNative" FUSED_DEPTHWISE, 0, infer_fused_conv2d),
    OP("FusedDepthwiseConv2dNative" FUSED_DEPTHWISE, 0, infer_fused_conv2d),
    /* the name in TensorFlow.js */
    OP("_FusedOnnxConv(X:T, W:T, args:num_args*T)->(Y:T) {auto_pad:string=NOTSET, dilations:list(int)=[], "
       "group:int=1, kernel_shape:list(int)=[], pads:list(int)=[], strides:list(int)=[], T:type, "
       "num_args:int, " EPILOGUE_ATTRIBUTES "}",
        OP_INTERNAL, infer_fused_onnx_conv),
};

OP_FAMILY(convolution, convolution_ops);
