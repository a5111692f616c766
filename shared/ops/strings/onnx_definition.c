/* Strings joined pairwise, matched and cut (ONNX; the Tokenizer is ONNX Runtime's). */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The pieces of a string are along one more dimension, whose size is known when they are. */
static Status
add_pieces(Call *call, InferContext *context)
{
    Shape pieces = shape_vector(-1);
    context->outputs[0] = context->inputs[0];
    return context->inputs[0].rank < 0 ? STATUS_OK : infer_append(call, &pieces, 0, 1, &context->outputs[0]);
}

static Status
infer_split(Call *call, InferContext *context)
{
    context->outputs[1] = context->inputs[0];
    return add_pieces(call, context);
}

static Status
infer_tokens(Call *call, InferContext *context)
{
    int rank = context->inputs[0].rank;
    if (rank == 0 || rank > 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "strings of rank %d are neither [C] nor [N,C]", rank);
    }
    return add_pieces(call, context);
}

static const OpDefinition strings_onnx_ops[] = {
    OP("onnx::StringConcat(X:string, Y:string)->(Z:string) {}", 0, infer_broadcast),
    OP("onnx::RegexFullMatch(X:string)->(Y:bool) {pattern:string}", 0, infer_unchanged),
    OP("onnx::StringSplit(X:string)->(Y:string, Z:int64) {delimiter:string=, maxsplit:int=-1}", 0,
        infer_split),
    OP("com.microsoft::Tokenizer(X:string)->(Y:string) {mark:int, mincharnum:int>=1, pad_value:string, "
       "separators:list(string)=[], tokenexp:string=}",
        0, infer_tokens),
};

OP_FAMILY(strings_onnx, strings_onnx_ops);
