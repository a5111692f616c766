/* Strings that hold bytes: as base64, and as the elements of tensors. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* A last dimension, whose size the strings tell, holds the elements of one. */
static Status
infer_decoded(Call *call, InferContext *context)
{
    const Shape *strings = &context->inputs[0];
    if (strings->rank < 0) {
        return STATUS_OK;
    }
    Shape last = shape_vector(-1);
    context->outputs[0] = *strings;
    return infer_append(call, &last, 0, 1, &context->outputs[0]);
}

static Status
infer_padded(Call *call, InferContext *context)
{
    int64_t length = -1;
    bool is_known = false;
    int64_t size = (int64_t)dtype_size(context->node->output_dtypes[0]);
    TRY(infer_decoded(call, context));
    TRY(infer_int(call, context, 1, &length, &is_known));
    if (is_known && (length <= 0 || (size > 0 && length % size != 0))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the fixed length %lld is not a positive multiple of an element's %lld bytes", (long long)length,
            (long long)size);
    }
    if (is_known && size > 0 && context->outputs[0].rank > 0) {
        context->outputs[0].dims[context->outputs[0].rank - 1] = length / size;
    }
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition codec_ops[] = {
    OP("EncodeBase64(input:string)->(output:string) {pad:bool=false}", 0, infer_unchanged),
    OP("DecodeBase64(input:string)->(output:string) {}", 0, infer_unchanged),
    OP("DecodeRaw(bytes:string)->(output:out_type) {out_type:type, little_endian:bool=true}", 0,
        infer_decoded),
    OP("DecodePaddedRaw(input_bytes:string, fixed_length:int32)->(output:out_type) {out_type:type, "
       "little_endian:bool=true}",
        0, infer_padded),
};

OP_FAMILY(strings_codec, codec_ops);
