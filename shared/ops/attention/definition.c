/* Attention as one op, which a pass makes of the ops that a graph has. */
#include "shared/ops/attention.h"
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
infer_attention(Call *call, InferContext *context)
{
    Attention attention;
    AttentionShapes shapes;
    TRY(attention_read(call, context->node, &attention));
    for (uint32_t index = 0; index < context->node->input_count; index++) {
        if (context->inputs[index].rank < 0) {
            return STATUS_OK;
        }
    }
    TRY(attention_shapes(call, &attention, context->inputs, &shapes));
    context->outputs[0] = shapes.output;
    return STATUS_OK;
}

static const OpDefinition attention_ops[] = {
    OP("_FusedAttention(query:T, key:T, value:T, args:num_args*T, masks:num_masks*bool)->(output:T) "
       "{transpose_key:bool=false, T:type, num_args:int, num_masks:int=0, fused_ops:list(string)=[]}",
        OP_INTERNAL, infer_attention),
};

OP_FAMILY(attention, attention_ops);
