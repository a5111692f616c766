/* Softmax and its relatives along one dimension. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Scores are normalised along the last dimension, so that a scalar has none. */
static Status
infer_softmax(Call *call, InferContext *context)
{
    if (context->inputs[0].rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar has no dimension to normalise");
    }
    return infer_unchanged(call, context);
}

static Status
infer_along_axis(Call *call, InferContext *context)
{
    int axis = 0;
    if (context->inputs[0].rank >= 0) {
        TRY(infer_axis(call, node_attr_int(context->node, "axis"), context->inputs[0].rank, &axis));
    }
    return infer_unchanged(call, context);
}

static const OpDefinition softmax_ops[] = {
    OP("Softmax(logits:T)->(softmax:T) {T:type}", 0, infer_softmax),
    OP("LogSoftmax(logits:T)->(logsoftmax:T) {T:type}", 0, infer_softmax),
    OP("onnx::Softmax(input:T)->(output:T) {axis:int=-1, T:type}", 0, infer_along_axis),
    OP("onnx::LogSoftmax(input:T)->(output:T) {axis:int=-1, T:type}", 0, infer_along_axis),
    OP("onnx::Hardmax(input:T)->(output:T) {axis:int=-1, T:type}", 0, infer_along_axis),
};

OP_FAMILY(softmax, softmax_ops);
