/* Tensors with a border. */
#include "shared/ops/family.h"
#include "shared/ops/pad/rule.h"

static Status
infer_pad(Call *call, InferContext *context)
{
    PaddingPlan plan;
    TRY(padding_read(call, context, &plan));
    context->outputs[0] = plan.output;
    return STATUS_OK;
}

static const OpDefinition pad_ops[] = {
    OP("Pad(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32}", 0, infer_pad),
    OP("PadV2(input:T, paddings:Tpaddings, constant_values:T)->(output:T) {T:type, Tpaddings:type=DT_INT32}",
        0, infer_pad),
    OP("MirrorPad(input:T, paddings:Tpaddings)->(output:T) {T:type, Tpaddings:type=DT_INT32, mode:string}", 0,
        infer_pad),
    OP("onnx::Pad(data:T, pads:int64, constant_value?:T, axes?:Tind)->(output:T) {mode:string=constant, "
       "T:type, "
       "Tind:type}",
        0, infer_pad),
};

OP_FAMILY(pad, pad_ops);
