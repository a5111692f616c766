/* ONNX's Attention. */
#include "shared/ops/attention/onnx_rule.h"
#include "shared/ops/family.h"

static Status
infer_onnx_attention(Call *call, InferContext *context)
{
    OnnxAttention attention;
    TRY(onnx_attention_read_attributes(call, context->node, &attention));
    if (context->inputs[ONNX_ATTENTION_QUERY].rank < 0) {
        return STATUS_OK;
    }
    TRY(onnx_attention_read(call, context, &attention));
    for (uint32_t output = 0; output < context->node->output_count; output++) {
        context->outputs[output] = onnx_attention_shape(&attention, output);
        TRY(infer_check_size(call, &context->outputs[output]));
    }
    return STATUS_OK;
}

static const OpDefinition attention_onnx_ops[] = {
    OP("onnx::Attention(Q:T1, K:T1, V:T2, attn_mask?:U, past_key?:T1, past_value?:T2, "
       "nonpad_kv_seqlen?:int64)->(Y:T1, present_key:T1, present_value:T2, "
       "qk_matmul_output:score_outputs*T1) "
       "{is_causal:int=0, kv_num_heads:int=0, left_window_size:int=-1, q_num_heads:int=0, "
       "qk_matmul_output_mode:int=0, right_window_size:int=-1, scale:float=nan, score_outputs:int=0, "
       "softcap:float=0, softmax_precision:int=1, T1:type, T2:type, U:type}",
        0, infer_onnx_attention),
};

OP_FAMILY(attention_onnx, attention_onnx_ops);
