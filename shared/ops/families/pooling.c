/* Largest and mean values within windows. */
#include "shared/ops/pooling.h"
#include "shared/ops/family.h"

static Status
infer_pool(Call *call, InferContext *context)
{
    Pooling pooling;
    TRY(pooling_tensorflow(call, context, &pooling));
    context->outputs[0] = pooling.output;
    return STATUS_OK;
}

/* MaxPool has a second output, the places of the largest values, of the same shape. */
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

static const OpDefinition pooling_ops[] = {
    {"MaxPool(input:T)->(output:T) {T:type=DT_FLOAT, ksize:list(int), strides:list(int), padding:string, "
     "data_format:string=NHWC}",
        0, infer_pool},
    {"AvgPool(value:T)->(output:T) {ksize:list(int), strides:list(int), padding:string, "
     "data_format:string=NHWC, T:type}",
        0, infer_pool},
    {"onnx::MaxPool(X:T)->(Y:T, Indices?:int64) {auto_pad:string=NOTSET, ceil_mode:int=0, "
     "dilations:list(int)=[], kernel_shape:list(int), pads:list(int)=[], storage_order:int=0, "
     "strides:list(int)=[], T:type}",
        0, infer_onnx_pool},
    {"onnx::AveragePool(X:T)->(Y:T) {auto_pad:string=NOTSET, ceil_mode:int=0, count_include_pad:int=0, "
     "dilations:list(int)=[], kernel_shape:list(int), pads:list(int)=[], strides:list(int)=[], T:type}",
        0, infer_onnx_pool},
    {"onnx::GlobalMaxPool(X:T)->(Y:T) {T:type}", 0, infer_global_pool},
    {"onnx::GlobalAveragePool(X:T)->(Y:T) {T:type}", 0, infer_global_pool},
};

OP_FAMILY(pooling, pooling_ops);
