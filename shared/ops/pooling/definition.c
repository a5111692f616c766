/* Largest and mean values and norms within windows. */
#include "shared/ops/family.h"
#include "shared/ops/pooling/rule.h"

static Status
infer_pool(Call *call, InferContext *context)
{
    Pooling pooling;
    TRY(pooling_tensorflow(call, context, &pooling));
    context->outputs[0] = pooling.output;
    return STATUS_OK;
}

static Status
infer_pool_gradient(Call *call, InferContext *context)
{
    Pooling pooling;
    return pooling_gradient(call, context, &pooling, &context->outputs[0]);
}

/* ONNX's MaxPool has a second output of the same shape: the positions of the largest values. */
static Status
infer_onnx_pool(Call *call, InferContext *context)
{
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    Pooling pooling;
    TRY(pooling_onnx(call, context, &pooling));
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = pooling.output;
    }
    return STATUS_OK;
}

static Status
infer_global_pool(Call *call, InferContext *context)
{
    if (context->inputs[0].rank < 0) {
        return STATUS_OK;
    }
    Pooling pooling;
    TRY(pooling_global(call, context, &pooling));
    context->outputs[0] = pooling.output;
    return STATUS_OK;
}

#define POOL_ATTRIBUTES(format)                                                                              \
    "ksize:list(int), strides:list(int), padding:string, data_format:string=" format

static const OpDefinition pooling_ops[] = {
    OP("MaxPool3D(input:T)->(output:T) {" POOL_ATTRIBUTES("NDHWC") ", T:type}", 0, infer_pool),
    OP("AvgPool3D(input:T)->(output:T) {" POOL_ATTRIBUTES("NDHWC") ", T:type}", 0, infer_pool),
    OP("MaxPoolGrad(orig_input:T, orig_output:T, grad:T)->(output:T) {" POOL_ATTRIBUTES(
           "NHWC") ", explicit_paddings:list(int)=[], T:type=DT_FLOAT}",
        0, infer_pool_gradient),
    OP("MaxPool3DGrad(orig_input:TInput, orig_output:TInput, grad:T)->(output:T) {" POOL_ATTRIBUTES(
           "NDHWC") ", T:type=DT_FLOAT, TInput:type=DT_FLOAT}",
        0, infer_pool_gradient),
    OP("AvgPoolGrad(orig_input_shape:int32, grad:T)->(output:T) {" POOL_ATTRIBUTES("NHWC") ", T:type}", 0,
        infer_pool_gradient),
    OP("AvgPool3DGrad(orig_input_shape:int32, grad:T)->(output:T) {" POOL_ATTRIBUTES("NDHWC") ", T:type}", 0,
        infer_pool_gradient),
    OP("MaxPool(input:T)->(output:T) {" POOL_ATTRIBUTES(
           "NHWC") ", explicit_paddings:list(int)=[], T:type=DT_FLOAT}",
        0, infer_pool),
    OP("AvgPool(value:T)->(output:T) {" POOL_ATTRIBUTES("NHWC") ", T:type}", 0, infer_pool),
    OP("onnx::MaxPool(X:T)->(Y:T, Indices?:int64) {auto_pad:string=NOTSET, ceil_mode:int=0, "
       "dilations:list(int)=[], kernel_shape:list(int), pads:list(int)=[], storage_order:int=0, "
       "strides:list(int)=[], T:type}",
        0, infer_onnx_pool),
    OP("onnx::AveragePool(X:T)->(Y:T) {auto_pad:string=NOTSET, ceil_mode:int=0, count_include_pad:int=0, "
       "dilations:list(int)=[], kernel_shape:list(int), pads:list(int)=[], strides:list(int)=[], T:type}",
        0, infer_onnx_pool),
    OP("onnx::GlobalMaxPool(X:T)->(Y:T) {T:type}", 0, infer_global_pool),
    OP("onnx::GlobalAveragePool(X:T)->(Y:T) {T:type}", 0, infer_global_pool),
    OP("onnx::GlobalLpPool(X:T)->(Y:T) {p:int>=1, T:type}", 0, infer_global_pool),
    OP("onnx::LpPool(X:T)->(Y:T) {auto_pad:string=NOTSET, ceil_mode:int=0, dilations:list(int)=[], "
       "kernel_shape:list(int), p:int>=1, pads:list(int)=[], strides:list(int)=[], T:type}",
        0, infer_onnx_pool),
};

OP_FAMILY(pooling, pooling_ops);
