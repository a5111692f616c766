/* ONNX's RotaryEmbedding. */
#include "shared/ops/attention/rotary_rule.h"
#include "shared/ops/family.h"

static Status
infer_rotary(Call *call, InferContext *context)
{
    Rotary rotary;
    if (context->inputs[ROTARY_INPUT].rank < 0) {
        return STATUS_OK;
    }
    TRY(rotary_read(call, context, &rotary));
    context->outputs[0] = context->inputs[ROTARY_INPUT];
    return STATUS_OK;
}

static const OpDefinition attention_rotary_ops[] = {
    OP("onnx::RotaryEmbedding(X:T, cos_cache:T, sin_cache:T, position_ids?:int64)->(Y:T) {interleaved:int=0, "
       "num_heads:int=0, rotary_embedding_dim:int=0, T:type}",
        0, infer_rotary),
};

OP_FAMILY(attention_rotary, attention_rotary_ops);
