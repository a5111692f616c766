/* com.microsoft::_KeyMask: a mask of keys, in one of ONNX Runtime's forms, becomes numbers that are added to
 * the scores of an attention. */
#include "shared/ops/attention/mask_rule.h"
#include "shared/ops/family.h"

static Status
infer_key_mask(Call *call, InferContext *context)
{
    return key_mask_shape(call, context, &context->outputs[0]);
}

static const OpDefinition attention_mask_ops[] = {
    OP("com.microsoft::_KeyMask(mask:M, query:T, key:T, past_key?:T)->(bias:T) "
       "{mask_filter_value:float=-10000, T:type, M:type}",
        0, infer_key_mask),
};

OP_FAMILY(attention_mask, attention_mask_ops);
