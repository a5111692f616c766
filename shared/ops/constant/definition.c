/* Sources of tensors, and ops that pass them on unchanged. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_constant(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = node_attr_tensor(context->node, "value")->shape;
    return STATUS_OK;
}

/* Graphs of producers before version 24 write rank 0 where they mean unknown: a scalar claims nothing. */
static Status
infer_placeholder(Call *call, InferContext *context)
{
    (void)call;
    const AttrValue *declared = node_attr(context->node, "shape");
    if (declared != NULL && declared->kind == ATTR_SHAPE && declared->value.shape.rank != 0) {
        context->outputs[0] = declared->value.shape;
    }
    return STATUS_OK;
}

static Status
infer_placeholder_with_default(Call *call, InferContext *context)
{
    const Shape *declared = &node_attr(context->node, "shape")->value.shape;
    Shape merged;
    if (!shape_merge(declared, &context->inputs[0], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the default has shape %s, not %s",
            shape_text(&context->inputs[0], left), shape_text(declared, right));
    }
    context->outputs[0] = *declared;
    return STATUS_OK;
}

/* Both outputs have the shape of the data. */
static Status
infer_dropout(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    context->outputs[1] = context->inputs[0];
    return STATUS_OK;
}

static const OpDefinition constant_ops[] = {
    OP("Const()->(output:dtype) {value:tensor, dtype:type}", OP_SOURCE, infer_constant),
    OP("Placeholder()->(output:dtype) {dtype:type, shape:shape=unk}", OP_SOURCE, infer_placeholder),
    OP("PlaceholderV2()->(output:dtype) {dtype:type, shape:shape}", OP_SOURCE, infer_placeholder),
    OP("PlaceholderWithDefault(input:dtype)->(output:dtype) {dtype:type, shape:shape}", 0,
        infer_placeholder_with_default),
    OP("NoOp()->() {}", 0, infer_unknown),
    OP("Identity(input:T)->(output:T) {T:type}", 0, infer_unchanged),
    OP("IdentityN(input:T)->(output:T) {T:list(type)}", 0, infer_unchanged),
    OP("onnx::_Outputs2(a:A, b:B)->(first:A, second:B) {A:type, B:type}", 0, infer_unchanged),
    OP("onnx::_Outputs3(a:A, b:B, c:C)->(first:A, second:B, third:C) {A:type, B:type, C:type}", 0,
        infer_unchanged),
    OP("Snapshot(input:T)->(output:T) {T:type}", 0, infer_unchanged),
    OP("StopGradient(input:T)->(output:T) {T:type}", 0, infer_unchanged),
    OP("PreventGradient(input:T)->(output:T) {T:type, message:string=}", 0, infer_unchanged),
    OP("CheckNumerics(tensor:T)->(output:T) {T:type, message:string}", 0, infer_unchanged),
    OP("ZerosLike(x:T)->(y:T) {T:type}", 0, infer_unchanged),
    OP("OnesLike(x:T)->(y:T) {T:type}", 0, infer_unchanged),
    OP("onnx::Identity(X:T)->(Y:T) {T:type}", 0, infer_unchanged),
    OP("onnx::Dropout(data:T, ratio?:T1, training_mode?:bool)->(output:T, mask?:bool) {seed:int=0, T:type, "
       "T1:type}",
        0, infer_dropout),
};

OP_FAMILY(constant, constant_ops);
