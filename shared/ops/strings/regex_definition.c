/* Strings matched by regular expressions, and what matches replaced. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Pattern and rewrite are scalars. */
static Status
infer_strings(Call *call, InferContext *context)
{
    for (uint32_t input = 1; input < context->node->input_count; input++) {
        Shape scalar;
        TRY(infer_rank(call, context, input, 0, &scalar));
    }
    context->outputs[0] = context->inputs[0];
    return STATUS_OK;
}

static const OpDefinition strings_regex_ops[] = {
    OP("RegexFullMatch(input:string, pattern:string)->(output:bool) {}", 0, infer_strings),
    OP("StaticRegexFullMatch(input:string)->(output:bool) {pattern:string}", 0, infer_strings),
    OP("RegexReplace(input:string, pattern:string, rewrite:string)->(output:string) "
       "{replace_global:bool=true}",
        0, infer_strings),
    OP("StaticRegexReplace(input:string)->(output:string) {pattern:string, rewrite:string, "
       "replace_global:bool=true}",
        0, infer_strings),
};

OP_FAMILY(strings_regex, strings_regex_ops);
