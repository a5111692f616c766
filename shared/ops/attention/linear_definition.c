/* ONNX's LinearAttention. */
#include "shared/ops/attention/linear_rule.h"
#include "shared/ops/family.h"

static Status
infer_linear_attention(Call *call, InferContext *context)
{
    LinearAttention attention;
    TRY(linear_attention_read(call, context, &attention));
    context->outputs[0] = attention.output;
    context->outputs[1] = attention.state;
    return STATUS_OK;
}

static const OpDefinition attention_linear_ops[] = {
    OP("onnx::LinearAttention(query:T, key:T, value:T, past_state?:S, decay?:T, beta?:T)->(output:T, "
       "present_state:S) {chunk_size:int=64, kv_num_heads:int>=1, q_num_heads:int>=1, scale:float=0, "
       "update_rule:string=gated_delta, T:type, S:type}",
        0, infer_linear_attention),
};

OP_FAMILY(attention_linear, attention_linear_ops);
