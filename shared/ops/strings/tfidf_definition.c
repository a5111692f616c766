/* ONNX's TfIdfVectorizer. */
#include "shared/ops/strings/tfidf_rule.h"

#include "shared/ops/family.h"

static Status
infer_tfidf(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    int64_t size = 0;
    TRY(tfidf_size(call, context->node, &size));
    if (input->rank > 2) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "an input of rank %d is neither [C] nor [N,C]", input->rank);
    }
    if (input->rank < 0) {
        return STATUS_OK;
    }
    Shape row = shape_vector(size);
    Shape rows = {.rank = 2, .dims = {input->dims[0], size}};
    context->outputs[0] = input->rank == 2 ? rows : row;
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition strings_tfidf_ops[] = {
    OP("onnx::TfIdfVectorizer(X:T)->(Y:float) {max_gram_length:int, max_skip_count:int, min_gram_length:int, "
       "mode:string, ngram_counts:list(int), ngram_indexes:list(int), pool_int64s:list(int)=[], "
       "pool_strings:list(string)=[], weights:list(float)=[], T:type}",
        0, infer_tfidf),
};

OP_FAMILY(strings_tfidf, strings_tfidf_ops);
