/* ONNX Runtime's attention of decoders. */
#include "shared/ops/family.h"
#include "shared/ops/group_query.h"

static Status
infer_group_query(Call *call, InferContext *context)
{
    GroupQuery query;
    if (context->inputs[GROUP_QUERY].rank < 0) {
        return STATUS_OK;
    }
    TRY(group_query_read(call, context, &query));
    context->outputs[0] = (Shape){.rank = 3, .dims = {query.batch, query.length, query.width}};
    context->outputs[1] =
        (Shape){.rank = 4, .dims = {query.batch, query.key_heads, query.present, query.size}};
    context->outputs[2] = context->outputs[1];
    TRY(infer_check_size(call, &context->outputs[0]));
    return infer_check_size(call, &context->outputs[1]);
}

static const OpDefinition attention_group_query_ops[] = {
    OP("com.microsoft::GroupQueryAttention(query:T, key?:T, value?:T, past_key?:T, past_value?:T, "
       "seqlens_k:int32, total_sequence_length:int32, cos_cache?:T, sin_cache?:T, position_ids?:int64, "
       "attention_bias?:T, head_sink?:T)->(output:T, present_key:T, present_value:T) {do_rotary:int=0, "
       "kv_num_heads:int>=1, local_window_size:int=-1, num_heads:int>=1, qk_output:int=0, "
       "rotary_interleaved:int=0, scale:float=0, smooth_softmax:int=0, softcap:float=0, T:type}",
        0, infer_group_query),
};

OP_FAMILY(attention_group_query, attention_group_query_ops);
