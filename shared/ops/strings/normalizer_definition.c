/* ONNX's StringNormalizer. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The number of strings that are left depends on their values; at least one is. */
static Status
infer_normalizer(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    char text[SHAPE_TEXT_SIZE];
    if (input->rank < 0) {
        return STATUS_OK;
    }
    if ((input->rank != 1 && input->rank != 2) ||
        (input->rank == 2 && input->dims[0] >= 0 && input->dims[0] != 1)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "strings of shape %s are neither [C] nor [1,C]",
            shape_text(input, text));
    }
    context->outputs[0] = shape_of_rank(input->rank);
    if (input->rank == 2) {
        context->outputs[0].dims[0] = 1;
    }
    return STATUS_OK;
}

static const OpDefinition strings_normalizer_ops[] = {
    OP("onnx::StringNormalizer(X:string)->(Y:string) {case_change_action:string=NONE, "
       "is_case_sensitive:int=0, locale:string=, stopwords:list(string)=[]}",
        0, infer_normalizer),
};

OP_FAMILY(strings_normalizer, strings_normalizer_ops);
