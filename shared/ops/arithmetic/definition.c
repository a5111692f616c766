/* Element-wise functions of two tensors that broadcast against each other. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/layout.h"

#define ARITHMETIC(name, flags)                                                                              \
    OP(name "(x:T, y:T)->(z:T) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)

/* AddN takes inputs of one shape; TensorFlow does not broadcast them. */
static Status
infer_add_n(Call *call, InferContext *context)
{
    Shape result = context->inputs[0];
    for (uint32_t index = 1; index < context->node->input_count; index++) {
        Shape merged;
        if (!shape_merge(&result, &context->inputs[index], &merged)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u has shape %s, not %s", index,
                shape_text(&context->inputs[index], right), shape_text(&result, left));
        }
        result = merged;
    }
    context->outputs[0] = result;
    return STATUS_OK;
}

/* A bias has one number a channel; channels are the last dimension or, in NC… formats, the second. */
static Status
infer_bias_add(Call *call, InferContext *context)
{
    Shape value = context->inputs[0];
    Shape bias;
    TRY(infer_rank(call, context, 1, 1, &bias));
    if (value.rank < 0) {
        return STATUS_OK;
    }
    if (value.rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a value of rank %d has no channels", value.rank);
    }
    int64_t *channels = &value.dims[layout_channel(context->node, value.rank)];
    TRY(infer_equal(call, *channels, bias.dims[0], "the number of channels", channels));
    context->outputs[0] = value;
    return STATUS_OK;
}

/* The slope of PRelu broadcasts to X, never the other way. */
static Status
infer_first(Call *call, InferContext *context)
{
    TRY(infer_broadcast(call, context));
    Shape merged;
    if (!shape_merge(&context->outputs[0], &context->inputs[0], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shape %s does not broadcast to %s",
            shape_text(&context->inputs[1], left), shape_text(&context->inputs[0], right));
    }
    context->outputs[0] = merged;
    return STATUS_OK;
}

#define ONNX_PAIR(name, flags)                                                                               \
    OP(name "(A:T, B:T)->(C:T) {T:type}", (flags) | OP_ELEMENTWISE, infer_broadcast)
#define ONNX_FOLD(name, flags) OP(name "(data:N*T)->(result:T) {N:int>=1, T:type}", flags, infer_broadcast)

static const OpDefinition arithmetic_ops[] = {
    ARITHMETIC("Add", OP_COMMUTATIVE),
    ARITHMETIC("AddV2", OP_COMMUTATIVE),
    ARITHMETIC("Sub", 0),
    ARITHMETIC("Mul", OP_COMMUTATIVE),
    ARITHMETIC("MulNoNan", 0),
    ARITHMETIC("Div", 0),
    ARITHMETIC("RealDiv", 0),
    ARITHMETIC("TruncateDiv", 0),
    ARITHMETIC("TruncateMod", 0),
    ARITHMETIC("DivNoNan", 0),
    ARITHMETIC("FloorDiv", 0),
    ARITHMETIC("FloorMod", 0),
    ARITHMETIC("Mod", 0),
    ARITHMETIC("Maximum", 0),
    ARITHMETIC("Minimum", 0),
    ARITHMETIC("Pow", 0),
    ARITHMETIC("SquaredDifference", OP_COMMUTATIVE),
    ARITHMETIC("BitwiseAnd", OP_COMMUTATIVE),
    ARITHMETIC("BitwiseOr", OP_COMMUTATIVE),
    ARITHMETIC("BitwiseXor", OP_COMMUTATIVE),
    ARITHMETIC("Xdivy", 0),
    ARITHMETIC("Xlogy", 0),
    OP("Atan2(y:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("AddN(inputs:N*T)->(sum:T) {N:int>=1, T:type}", OP_COMMUTATIVE | OP_ELEMENTWISE, infer_add_n),
    OP("AccumulateNV2(inputs:N*T)->(sum:T) {N:int>=1, T:type, shape:shape}", OP_COMMUTATIVE | OP_ELEMENTWISE,
        infer_add_n),
    OP("BiasAdd(value:T, bias:T)->(output:T) {T:type, data_format:string=NHWC}", OP_ELEMENTWISE,
        infer_bias_add),
    OP("BiasAddV1(value:T, bias:T)->(output:T) {T:type}", OP_ELEMENTWISE, infer_bias_add),
    OP("onnx::PRelu(X:T, slope:T)->(Y:T) {T:type}", OP_ELEMENTWISE, infer_first),
    ONNX_PAIR("onnx::Add", OP_COMMUTATIVE),
    ONNX_PAIR("onnx::Sub", 0),
    ONNX_PAIR("onnx::Mul", OP_COMMUTATIVE),
    ONNX_PAIR("onnx::Div", 0),
    ONNX_PAIR("onnx::BitwiseAnd", OP_COMMUTATIVE),
    ONNX_PAIR("onnx::BitwiseOr", OP_COMMUTATIVE),
    ONNX_PAIR("onnx::BitwiseXor", OP_COMMUTATIVE),
    OP("onnx::Mod(A:T, B:T)->(C:T) {fmod:int=0, T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("onnx::BitShift(X:T, Y:T)->(Z:T) {direction:string, T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("onnx::Pow(X:T, Y:T1)->(Z:T) {T:type, T1:type}", OP_ELEMENTWISE, infer_broadcast),
    ONNX_FOLD("onnx::Sum", OP_ELEMENTWISE),
    ONNX_FOLD("onnx::Max", OP_ELEMENTWISE),
    ONNX_FOLD("onnx::Min", OP_ELEMENTWISE),
    ONNX_FOLD("onnx::Mean", 0),
};

OP_FAMILY(arithmetic, arithmetic_ops);
