/* onnx::EyeLike: ones along a diagonal. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_eye_like(Call *call, InferContext *context)
{
    Shape shape;
    TRY(infer_rank(call, context, 0, 2, &shape));
    context->outputs[0] = shape;
    return STATUS_OK;
}

static const OpDefinition eye_ops[] = {
    OP("onnx::EyeLike(input:T1)->(output:dtype) {dtype:type, k:int=0, T1:type}", 0, infer_eye_like),
};

OP_FAMILY(diagonal_eye, eye_ops);
